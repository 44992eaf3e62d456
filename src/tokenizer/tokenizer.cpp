// SPDX-License-Identifier: Apache-2.0
// What all tokenizers share, and the choice of one by its spec.
#include "tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "io/file_write.h"
#include "io/path_query.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/gguf_tokenizer.h"
#include "tokenizer/byte_level_bpe.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/tiktoken.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::string_view kBpePrefix = "bpe:";
constexpr const char* kFileName = "tokenizer.json";
constexpr const char* kConfigName = "tokenizer_config.json";
constexpr const char* kMapName = "special_tokens_map.json";

}  // namespace

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  encode_to(text, [&ids](std::span<const std::int32_t> piece) { ids.insert(ids.end(), piece.begin(), piece.end()); });
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode_framed(std::string_view text) const {
  std::vector<std::int32_t> ids = frame().before;
  encode_to(text, [&ids](std::span<const std::int32_t> piece) { ids.insert(ids.end(), piece.begin(), piece.end()); });
  ids.insert(ids.end(), frame().after.begin(), frame().after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  TokenDecoder::State state;
  std::string bytes;
  for (const std::int32_t id : ids) decoder().push(state, token(id), bytes);
  decoder().finish(state, bytes);
  return replace_invalid_utf8(bytes);
}

std::uint64_t Tokenizer::fingerprint() const {
  const std::string json = to_json() + to_config_json();
  return XXH3_64bits(json.data(), json.size());
}

std::string StreamDecoder::push(std::int32_t id) {
  tokenizer_->decoder().push(state_, tokenizer_->token(id), pending_);
  std::string text;
  std::size_t position = 0;
  while (position < pending_.size()) {
    const Utf8Step step = read_utf8(pending_, position);
    if (step.cut_short) break;
    text += step.valid ? std::string_view(pending_).substr(position, step.length) : kReplacementCharacter;
    position += step.length;
  }
  pending_.erase(0, position);
  return text;
}

std::string StreamDecoder::finish() {
  tokenizer_->decoder().finish(state_, pending_);
  const std::string text = replace_invalid_utf8(pending_);
  pending_.clear();
  return text;
}

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view prompt) {
  std::vector<std::int32_t> start = tokenizer.frame().before;
  const std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  start.insert(start.end(), ids.begin(), ids.end());
  if (!start.empty()) return start;
  try {
    return tokenizer.encode("\n");
  } catch (const UserError&) {
    return {tokenizer.end_of_text().value_or(0)};
  }
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_folder) {
  if (is_gguf(file_or_folder)) return gguf_tokenizer(GgufFile::open(file_or_folder));
  const bool folder = is_folder(file_or_folder);
  const std::filesystem::path path = folder ? file_or_folder / kFileName : file_or_folder;
  if (path.extension() == ".tiktoken") return parse_tiktoken(read_text_file(path), path.string());
  TokenizerFiles files{.path = path.string(), .json = read_text_file(path), .config_path = {}, .config = {}, .map_path = {}, .map = {}};
  const auto read_beside = [&path](const char* name, std::string& other_path, std::string& text) {
    const std::filesystem::path other = path.parent_path() / name;
    if (!path_exists(other)) return;
    other_path = other.string();
    text = read_text_file(other);
  };
  if (path.filename() == kFileName) {
    read_beside(kConfigName, files.config_path, files.config);
    read_beside(kMapName, files.map_path, files.map);
  }
  return parse_tokenizer_files(files);
}

void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& folder) {
  write_text_file(folder / kFileName, tokenizer.to_json() + "\n");
  if (const std::string config = tokenizer.to_config_json(); !config.empty()) write_text_file(folder / kConfigName, config + "\n");
}

bool is_learned_tokenizer(std::string_view spec) { return spec == "char" || spec.substr(0, kBpePrefix.size()) == kBpePrefix; }

struct TokenizerLearner::State {
  std::int64_t bpe_tokens = 0;  // 0: char
  TextCharacters characters;
  BpeTrainer bpe;
};

TokenizerLearner::TokenizerLearner(std::string_view spec) : state_(std::make_unique<State>()) {
  if (spec == "char") return;
  if (!is_learned_tokenizer(spec)) {
    throw UserError(fmt::format("unknown tokenizer: use char, bpe:N or a tokenizer.json file; got \"{}\"", spec));
  }
  const std::string_view digits = spec.substr(kBpePrefix.size());
  std::int64_t& size = state_->bpe_tokens;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || end != digits.data() + digits.size() || size > INT32_MAX || size < 1) {
    throw UserError(fmt::format("bpe:N needs a number of tokens, as in bpe:4096; got \"{}\"", spec));
  }
}

TokenizerLearner::~TokenizerLearner() = default;
TokenizerLearner::TokenizerLearner(TokenizerLearner&&) noexcept = default;
TokenizerLearner& TokenizerLearner::operator=(TokenizerLearner&&) noexcept = default;

void TokenizerLearner::add(std::string_view text) {
  if (state_->bpe_tokens == 0) {
    state_->characters.add(text);
  } else {
    state_->bpe.add_text(text);
  }
}

std::unique_ptr<Tokenizer> TokenizerLearner::finish() {
  if (state_->bpe_tokens == 0) return std::make_unique<CharTokenizer>(state_->characters.ascending());
  ByteLevelBpe bpe;
  bpe.vocabulary = state_->bpe.train(state_->bpe_tokens, {std::string(kEndOfText)});
  bpe.special = {0};
  return make_byte_level_bpe(std::move(bpe), fmt::format("{}{}", kBpePrefix, state_->bpe_tokens));
}

std::unique_ptr<Tokenizer> learn_tokenizer(std::string_view spec, std::span<const std::string_view> documents) {
  TokenizerLearner learner(spec);
  for (const std::string_view document : documents) learner.add(document);
  return learner.finish();
}

}  // namespace reprise
