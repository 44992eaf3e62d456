// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_level_bpe.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/word_patterns.h"

namespace reprise {

namespace {

Json byte_level(bool add_prefix_space, bool use_regex) {
  return Json::object({{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"trim_offsets", true}, {"use_regex", use_regex}});
}

Json sequence(Json first, Json second) {
  return Json::object({{"type", "Sequence"}, {"pretokenizers", Json::array({std::move(first), std::move(second)})}});
}

Json split(std::string_view regex) {
  return Json::object({{"type", "Split"}, {"pattern", Json::object({{"Regex", regex}})}, {"behavior", "Isolated"}, {"invert", false}});
}

Json pre_tokenizer_of(WordPattern pattern) {
  switch (pattern) {
    case WordPattern::gpt2: return byte_level(false, true);
    case WordPattern::digits: return sequence(Json::object({{"type", "Digits"}, {"individual_digits", true}}), byte_level(false, true));
    case WordPattern::llama3: return sequence(split(kLlama3Pattern), byte_level(false, false));
    case WordPattern::qwen2: return sequence(split(kQwen2Pattern), byte_level(false, false));
  }
  throw InternalError("a word pattern without a pre_tokenizer");
}

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level_bpe(ByteLevelBpe bpe, const std::string& where) {
  BpeTokenizerParts parts;
  parts.vocabulary = std::move(bpe.vocabulary);
  parts.settings.ignore_merges = bpe.ignore_merges;
  const auto& tokens = parts.vocabulary.tokens;
  const auto text_of = [&](std::int32_t id) {
    if (id < 0 || static_cast<std::size_t>(id) >= tokens.size() || tokens[static_cast<std::size_t>(id)].empty()) {
      throw UserError(fmt::format("{}: no token of the vocabulary has the id {}", where, id));
    }
    return tokens[static_cast<std::size_t>(id)];
  };
  for (const auto& [ids, special] : {std::pair(&bpe.special, true), std::pair(&bpe.added, false)}) {
    for (const std::int32_t id : *ids) {
      AddedToken token;
      token.id = id;
      token.content = text_of(id);
      token.special = special;
      parts.added.push_back(std::move(token));
    }
  }
  parts.pre_tokenizer = pre_tokenizer_of(bpe.pattern);
  parts.decoder = byte_level(true, true);
  parts.special = bpe.roles;
  TextFrame frame;
  const auto add = [&](bool wanted, std::optional<std::int32_t> id, std::string_view role, std::vector<std::int32_t>& side) {
    if (!wanted) return;
    if (!id) throw UserError(fmt::format("{}: {} is to be added to every text, but no token is named as {}", where, role, role));
    side.push_back(*id);
  };
  add(bpe.add_bos, bpe.roles.bos, "bos", frame.before);
  add(bpe.add_eos, bpe.roles.eos, "eos", frame.after);
  parts.post_processor = write_text_frame(frame, text_of);
  return std::make_unique<BpeTokenizer>(std::move(parts), where);
}

std::vector<std::pair<std::int32_t, std::int32_t>> parse_merges(std::span<const std::string> merges, std::span<const std::string> tokens,
                                                                const std::string& where) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  ids.reserve(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) ids.emplace(tokens[id], static_cast<std::int32_t>(id));
  }
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  pairs.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const std::size_t space = merge.find(' ');
    const auto left = ids.find(merge.substr(0, space));
    const auto right = space == std::string_view::npos ? ids.end() : ids.find(merge.substr(space + 1));
    if (left == ids.end() || right == ids.end()) {
      throw UserError(fmt::format("{}: merge {} is not two tokens of the vocabulary with a space between: \"{}\"", where, i, merge));
    }
    pairs.emplace_back(left->second, right->second);
  }
  return pairs;
}

}  // namespace reprise
