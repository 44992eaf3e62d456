// SPDX-License-Identifier: Apache-2.0
// Reading checks the components from the outside in: those around the model first, then the model, then its tables.
#include "tokenizer/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::string_view kCharModel = "reprise_char";
constexpr int kIndent = 2;

Json byte_level_component(bool add_prefix_space) {
  return Json::object({{"type", "ByteLevel"},
                       {"add_prefix_space", add_prefix_space},
                       {"trim_offsets", true},
                       {"use_regex", true}});
}

/// Returns the outer object: everything but the model.
Json outer_form(Json added_tokens, Json pre_tokenizer, Json decoder) {
  return Json::object({{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", std::move(added_tokens)},
                       {"normalizer", nullptr},
                       {"pre_tokenizer", std::move(pre_tokenizer)},
                       {"post_processor", nullptr},
                       {"decoder", std::move(decoder)}});
}

[[noreturn]] void refuse(const std::string& path, std::string_view component) {
  throw UserError(fmt::format("{}: {} is not supported: use a byte-level BPE tokenizer with GPT-2's pre-tokenizer, char or "
                              "bpe:N",
                              path, component));
}

[[noreturn]] void malformed(const std::string& path, std::string_view what) {
  throw UserError(fmt::format("{}: not a whole tokenizer.json: {}", path, what));
}

/// Says whether `key` of `object` is missing, null, false, "" or 0: a switch that is off.
bool is_off(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  if (value == nullptr || value->is_null()) return true;
  if (value->is_boolean()) return !value->boolean();
  if (value->is_string()) return value->string().empty();
  return value->is_number() && value->number() == 0;
}

bool is_set(const Json& object, std::string_view key, bool otherwise) {
  const Json* value = object.find(key);
  return value == nullptr ? otherwise : value->is_boolean() && value->boolean();
}

std::string type_of(const Json& component) {
  const Json* type = component.find("type");
  return type != nullptr && type->is_string() ? type->string() : std::string("without a type");
}

/// Requires that component `key` is null or, when allowed, ByteLevel.
const Json* require_byte_level(const Json& root, std::string_view key, bool byte_level_allowed, const std::string& path) {
  const Json* component = root.find(key);
  if (component == nullptr || component->is_null()) return nullptr;
  const std::string type = type_of(*component);
  if (!byte_level_allowed || type != "ByteLevel") refuse(path, fmt::format("{} {}", key, type));
  return component;
}

const Json& require_object(const Json& object, std::string_view key, const std::string& path) {
  const Json* member = object.find(key);
  if (member == nullptr || !member->is_object()) malformed(path, fmt::format("\"{}\" must be an object", key));
  return *member;
}

struct AddedToken {
  std::string content;
  std::int64_t id;
};

std::vector<AddedToken> read_added_tokens(const Json& root, const std::string& path) {
  std::vector<AddedToken> tokens;
  const Json* list = root.find("added_tokens");
  if (list == nullptr || list->is_null()) return tokens;
  if (!list->is_array()) malformed(path, "\"added_tokens\" must be an array");
  for (const Json& entry : list->items()) {
    const Json* content = entry.find("content");
    const Json* id = entry.find("id");
    if (content == nullptr || !content->is_string() || content->string().empty() || id == nullptr || !id->is_integer()) {
      malformed(path, "each of \"added_tokens\" needs \"content\" and \"id\"");
    }
    for (const std::string_view option : {"single_word", "lstrip", "rstrip"}) {
      if (!is_off(entry, option)) refuse(path, fmt::format("added token \"{}\" with {}", content->string(), option));
    }
    tokens.push_back({content->string(), id->integer()});
  }
  return tokens;
}

/// Puts `bytes` at `id`, which must be free and below the number of tokens.
void place_token(std::vector<std::optional<std::string>>& tokens, std::int64_t id, std::string bytes,
                 const std::string& path) {
  if (id < 0 || id >= static_cast<std::int64_t>(tokens.size())) {
    malformed(path, fmt::format("ids must run from 0 to {} without gaps; found id {}", tokens.size() - 1, id));
  }
  auto& slot = tokens[static_cast<std::size_t>(id)];
  if (slot && *slot != bytes) malformed(path, fmt::format("two tokens have the same id {}", id));
  slot = std::move(bytes);
}

/// Returns the two parts of a merge, written as ["a", "b"] or "a b".
std::pair<std::string, std::string> merge_parts(const Json& merge, const std::string& path) {
  if (merge.is_array() && merge.items().size() == 2 && merge.items()[0].is_string() && merge.items()[1].is_string()) {
    return {merge.items()[0].string(), merge.items()[1].string()};
  }
  if (merge.is_string()) {
    const std::string& text = merge.string();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  malformed(path, "each of \"merges\" must be [\"left\", \"right\"] or \"left right\"");
}

BpeVocabulary read_bpe_vocabulary(const Json& model, const std::vector<AddedToken>& added, const std::string& path) {
  const Json& vocab = require_object(model, "vocab", path);
  const Json* merges = model.find("merges");
  if (merges == nullptr || !merges->is_array()) malformed(path, "\"merges\" must be an array");

  std::unordered_map<std::string, std::int32_t> id_of;  // as written in the file
  std::size_t outside = 0;                              // added tokens that the vocabulary does not list
  for (const JsonMember& member : vocab.members()) {
    if (!member.value.is_integer()) malformed(path, fmt::format("the id of \"{}\" must be an integer", member.key));
    id_of.emplace(member.key, static_cast<std::int32_t>(member.value.integer()));
  }
  std::unordered_map<std::string_view, std::int64_t> is_added;
  for (const AddedToken& token : added) {
    is_added.emplace(token.content, token.id);
    if (!id_of.contains(token.content)) ++outside;
  }

  std::vector<std::optional<std::string>> tokens(id_of.size() + outside);
  for (const AddedToken& token : added) place_token(tokens, token.id, token.content, path);
  for (const JsonMember& member : vocab.members()) {
    if (const auto found = is_added.find(member.key); found != is_added.end()) {
      if (found->second != member.value.integer()) {
        malformed(path, fmt::format("added token \"{}\" has ids {} and {}", member.key, found->second, member.value.integer()));
      }
      continue;
    }
    std::optional<std::string> bytes = from_byte_alphabet(member.key);
    if (!bytes) refuse(path, fmt::format("token \"{}\", which is not written in the byte alphabet,", member.key));
    place_token(tokens, member.value.integer(), std::move(*bytes), path);
  }

  BpeVocabulary vocabulary;
  for (const auto& token : tokens) {
    if (!token) malformed(path, fmt::format("no token has id {}", &token - tokens.data()));
    vocabulary.tokens.push_back(*token);
  }
  for (const AddedToken& token : added) vocabulary.added.push_back(static_cast<std::int32_t>(token.id));
  for (const Json& merge : merges->items()) {
    const auto [left, right] = merge_parts(merge, path);
    const auto left_id = id_of.find(left);
    const auto right_id = id_of.find(right);
    if (left_id == id_of.end() || right_id == id_of.end()) {
      malformed(path, fmt::format("merge of \"{}\" and \"{}\" names a token that is not in \"vocab\"", left, right));
    }
    vocabulary.merges.emplace_back(left_id->second, right_id->second);
  }
  return vocabulary;
}

std::unique_ptr<Tokenizer> read_bpe(const Json& root, const Json& model, const std::string& path) {
  const Json* pre_tokenizer = require_byte_level(root, "pre_tokenizer", true, path);
  if (pre_tokenizer == nullptr) refuse(path, "a model without pre_tokenizer");
  if (is_set(*pre_tokenizer, "add_prefix_space", true)) refuse(path, "pre_tokenizer ByteLevel with add_prefix_space");
  if (!is_set(*pre_tokenizer, "use_regex", true)) refuse(path, "pre_tokenizer ByteLevel without use_regex");
  require_byte_level(root, "post_processor", true, path);
  if (require_byte_level(root, "decoder", true, path) == nullptr) refuse(path, "a model without decoder");
  // unk_token and fuse_unk cannot act: every byte has a token.
  for (const std::string_view option :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges"}) {
    if (!is_off(model, option)) refuse(path, fmt::format("model BPE with {}", option));
  }
  BpeVocabulary vocabulary = read_bpe_vocabulary(model, read_added_tokens(root, path), path);
  try {
    return std::make_unique<BpeTokenizer>(std::move(vocabulary));
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", path, error.what()));
  }
}

std::unique_ptr<Tokenizer> read_char(const Json& root, const Json& model, const std::string& path) {
  for (const std::string_view component : {"pre_tokenizer", "post_processor", "decoder"}) {
    require_byte_level(root, component, false, path);
  }
  if (!read_added_tokens(root, path).empty()) refuse(path, fmt::format("model {} with added tokens", kCharModel));
  std::vector<char32_t> characters;
  for (const JsonMember& member : require_object(model, "vocab", path).members()) {
    const Utf8Step step = member.key.empty() ? Utf8Step{} : read_utf8(member.key, 0);
    if (!step.valid || step.length != member.key.size()) {
      malformed(path, fmt::format("\"{}\" of model {} must be one character", member.key, kCharModel));
    }
    const bool ascends = characters.empty() || characters.back() < step.code_point;
    if (!ascends || member.value != Json(static_cast<std::int64_t>(characters.size()))) {
      malformed(path, fmt::format("\"vocab\" of model {} must list ids 0, 1, 2, ... by ascending code point; at \"{}\"",
                                  kCharModel, member.key));
    }
    characters.push_back(step.code_point);
  }
  if (characters.empty()) malformed(path, "\"vocab\" is empty");
  return std::make_unique<CharTokenizer>(std::move(characters));
}

}  // namespace

std::string write_bpe_json(const BpeVocabulary& vocabulary) {
  const auto written = [&vocabulary](std::int32_t id) {
    const std::string& bytes = vocabulary.tokens[static_cast<std::size_t>(id)];
    const bool plain = std::find(vocabulary.added.begin(), vocabulary.added.end(), id) != vocabulary.added.end();
    return plain ? bytes : to_byte_alphabet(bytes);
  };
  Json added = Json::array();
  for (const std::int32_t id : vocabulary.added) {
    added.push_back(Json::object({{"id", static_cast<std::int64_t>(id)},
                                  {"content", written(id)},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", true}}));
  }
  Json vocab = Json::object();
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    vocab.members().push_back({written(static_cast<std::int32_t>(id)), static_cast<std::int64_t>(id)});
  }
  Json merges = Json::array();
  for (const auto& [left, right] : vocabulary.merges) merges.push_back(Json::array({written(left), written(right)}));

  Json root = outer_form(std::move(added), byte_level_component(false), byte_level_component(true));
  root.set("model", Json::object({{"type", "BPE"},
                                  {"dropout", nullptr},
                                  {"unk_token", nullptr},
                                  {"continuing_subword_prefix", nullptr},
                                  {"end_of_word_suffix", nullptr},
                                  {"fuse_unk", false},
                                  {"byte_fallback", false},
                                  {"ignore_merges", false},
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
  Json root = outer_form(Json::array(), nullptr, nullptr);
  root.set("model", Json::object({{"type", kCharModel}, {"vocab", std::move(vocab)}}));
  return write_json(root, kIndent);
}

std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view json, const std::string& path) {
  const Json root = parse_json(json, path);
  for (const std::string_view component : {"truncation", "padding", "normalizer"}) {
    const Json* value = root.find(component);
    if (value == nullptr || value->is_null()) continue;
    refuse(path, component == "normalizer" ? "normalizer " + type_of(*value) : std::string(component));
  }
  const Json& model = require_object(root, "model", path);
  const std::string type = type_of(model);
  if (type == "BPE") return read_bpe(root, model, path);
  if (type == kCharModel) return read_char(root, model, path);
  refuse(path, "model " + type);
}

}  // namespace reprise
