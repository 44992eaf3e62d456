// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_json.h"

#include <optional>
#include <utility>

#include "io/json.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr int kIndent = 2;

/// Returns the outer object: everything but the model.
Json outer_form(Json added_tokens, const Json& normalizer, const Json& pre_tokenizer, const Json& post_processor, const Json& decoder) {
  return Json::object({{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", std::move(added_tokens)},
                       {"normalizer", normalizer},
                       {"pre_tokenizer", pre_tokenizer},
                       {"post_processor", post_processor},
                       {"decoder", decoder}});
}

}  // namespace

std::string write_bpe_json(const BpeTokenizerParts& parts, const BpeVocabulary& vocabulary) {
  Json added = Json::array();
  for (const AddedToken& token : parts.added) {
    added.push_back(Json::object({{"id", std::int64_t{token.id}},
                                  {"content", token.content},
                                  {"single_word", token.single_word},
                                  {"lstrip", token.lstrip},
                                  {"rstrip", token.rstrip},
                                  {"normalized", token.normalized},
                                  {"special", token.special}}));
  }
  Json vocab = Json::object();
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!vocabulary.tokens[id].empty()) vocab.members().push_back({vocabulary.tokens[id], static_cast<std::int64_t>(id)});
  }
  Json merges = Json::array();
  for (const auto& [left, right] : vocabulary.merges) {
    merges.push_back(Json::array({vocabulary.tokens[static_cast<std::size_t>(left)], vocabulary.tokens[static_cast<std::size_t>(right)]}));
  }
  const BpeSettings& settings = parts.settings;
  Json root = outer_form(std::move(added), parts.normalizer, parts.pre_tokenizer, parts.post_processor, parts.decoder);
  root.set("model", Json::object({{"type", "BPE"},
                                  {"dropout", nullptr},
                                  {"unk_token", settings.unknown ? Json(*settings.unknown) : Json()},
                                  {"continuing_subword_prefix", nullptr},
                                  {"end_of_word_suffix", nullptr},
                                  {"fuse_unk", settings.fuse_unknown},
                                  {"byte_fallback", settings.byte_fallback},
                                  {"ignore_merges", settings.ignore_merges},
                                  {"vocab", std::move(vocab)},
                                  {"merges", std::move(merges)}}));
  return write_json(root, kIndent);
}

std::string write_char_json(const std::vector<char32_t>& characters) {
  Json vocab = Json::object();
  for (std::size_t id = 0; id < characters.size(); ++id) {
    std::string text;
    append_utf8(text, characters[id]);
    vocab.members().push_back({std::move(text), static_cast<std::int64_t>(id)});
  }
  Json root = outer_form(Json::array(), nullptr, nullptr, nullptr, nullptr);
  root.set("model", Json::object({{"type", kCharModel}, {"vocab", std::move(vocab)}}));
  return write_json(root, kIndent);
}

std::string write_special_tokens(const SpecialTokens& special, const std::function<std::string(std::int32_t)>& name_of) {
  Json root = Json::object({{"tokenizer_class", "PreTrainedTokenizerFast"}});
  const auto name = [&](const char* key, std::optional<std::int32_t> id) {
    if (id) root.set(key, name_of(*id));
  };
  name("bos_token", special.bos);
  name("eos_token", special.eos);
  name("pad_token", special.pad);
  return write_json(root, kIndent);
}

}  // namespace reprise
