// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "io/json_view.h"
#include "tokenizer/byte_level_bpe.h"

namespace reprise {
namespace {

// Types of tokens, as ggml numbers them.
constexpr std::int64_t kControl = 3;
constexpr std::int64_t kUserDefined = 4;
constexpr std::int64_t kLastType = 6;

struct PatternName {
  std::string_view name;
  WordPattern pattern;
};

constexpr PatternName kPatterns[] = {
    {"gpt-2", WordPattern::gpt2},       {"gpt2", WordPattern::gpt2},          {"smollm", WordPattern::digits},
    {"llama-bpe", WordPattern::llama3}, {"llama3", WordPattern::llama3},      {"llama-v3", WordPattern::llama3},
    {"qwen2", WordPattern::qwen2}};

// Everything that is read below, then what changes no ids of a BPE model.
constexpr std::string_view kKnown[] = {
    "tokenizer.ggml.model",           "tokenizer.ggml.pre",              "tokenizer.ggml.tokens",
    "tokenizer.ggml.token_type",      "tokenizer.ggml.merges",           "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.eos_token_id",    "tokenizer.ggml.padding_token_id", "tokenizer.ggml.add_bos_token",
    "tokenizer.ggml.add_eos_token",   "tokenizer.ggml.add_space_prefix", "tokenizer.ggml.scores",
    "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.separator_token_id",
    "tokenizer.ggml.cls_token_id",    "tokenizer.ggml.mask_token_id",    "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id",    "tokenizer.ggml.eos_token_ids",    "tokenizer.ggml.token_type_count",
    "tokenizer.huggingface.json"};

void refuse_unknown(const JsonView& keys) {
  for (const JsonMember& member : keys.json().members()) {
    if (member.key.starts_with("tokenizer.chat_template")) continue;
    if (std::find(std::begin(kKnown), std::end(kKnown), member.key) != std::end(kKnown)) continue;
    keys.fail(fmt::format("key \"{}\" is not known and may change the tokens{}", member.key, nearest_hint(member.key, kKnown)));
  }
}

WordPattern read_pattern(const JsonView& keys) {
  const JsonView pre = keys.at("tokenizer.ggml.pre");
  const auto* const found =
      std::find_if(std::begin(kPatterns), std::end(kPatterns), [&](const PatternName& row) { return row.name == pre.string(); });
  if (found == std::end(kPatterns)) {
    pre.fail(fmt::format("\"{}\" is not supported yet; one of: gpt-2, smollm, llama-bpe, qwen2", pre.string()));
  }
  return found->pattern;
}

std::vector<std::string> read_strings(const JsonView& array) {
  std::vector<std::string> texts;
  texts.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) texts.push_back(array.item(i).string());
  return texts;
}

bool read_flag(const JsonView& keys, std::string_view key, bool fallback) {
  const auto member = keys.find(key);
  return member ? member->boolean() : fallback;
}

std::optional<std::int32_t> read_role(const JsonView& keys, std::string_view key, std::size_t tokens) {
  const auto member = keys.find(key);
  if (!member) return std::nullopt;
  const std::int64_t id = member->integer();
  if (id < 0 || static_cast<std::size_t>(id) >= tokens) member->fail(fmt::format("is no id of {} tokens: {}", tokens, id));
  return static_cast<std::int32_t>(id);
}

/// Fills `special` and `added` by the tokens' types; without types there are none.
void read_types(const JsonView& keys, ByteLevelBpe& bpe) {
  const auto types = keys.find("tokenizer.ggml.token_type");
  if (!types) return;
  const std::size_t count = bpe.vocabulary.tokens.size();
  if (types->size() != count) types->fail(fmt::format("has {} entries, but there are {} tokens", types->size(), count));
  for (std::size_t id = 0; id < count; ++id) {
    const std::int64_t type = types->item(id).integer();
    if (type < 0 || type > kLastType) types->item(id).fail(fmt::format("is no type of token: {}", type));
    if (type == kControl) bpe.special.push_back(static_cast<std::int32_t>(id));
    if (type == kUserDefined) bpe.added.push_back(static_cast<std::int32_t>(id));
  }
}

}  // namespace

std::unique_ptr<Tokenizer> gguf_tokenizer(const GgufFile& file) {
  const std::string where = file.path().string();
  const Json json = metadata_json(file, "tokenizer.");
  const JsonView keys(json, where);
  const JsonView model = keys.at("tokenizer.ggml.model");
  if (model.string() != "gpt2") model.fail(fmt::format("\"{}\" is not supported yet; only gpt2 (byte-level BPE) is", model.string()));
  refuse_unknown(keys);
  ByteLevelBpe bpe;
  bpe.pattern = read_pattern(keys);
  bpe.ignore_merges = bpe.pattern == WordPattern::llama3;
  bpe.vocabulary.tokens = read_strings(keys.at("tokenizer.ggml.tokens"));
  bpe.vocabulary.merges = parse_merges(read_strings(keys.at("tokenizer.ggml.merges")), bpe.vocabulary.tokens, where);
  read_types(keys, bpe);
  const std::size_t count = bpe.vocabulary.tokens.size();
  bpe.roles.bos = read_role(keys, "tokenizer.ggml.bos_token_id", count);
  bpe.roles.eos = read_role(keys, "tokenizer.ggml.eos_token_id", count);
  bpe.roles.pad = read_role(keys, "tokenizer.ggml.padding_token_id", count);
  bpe.add_bos = read_flag(keys, "tokenizer.ggml.add_bos_token", bpe.pattern == WordPattern::llama3);
  bpe.add_eos = read_flag(keys, "tokenizer.ggml.add_eos_token", false);
  if (read_flag(keys, "tokenizer.ggml.add_space_prefix", false)) {
    keys.at("tokenizer.ggml.add_space_prefix").fail("true is not supported yet");
  }
  return make_byte_level_bpe(std::move(bpe), where);
}

}  // namespace reprise
