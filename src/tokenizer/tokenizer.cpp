// SPDX-License-Identifier: Apache-2.0
// What all tokenizers share, and the choice of one by its spec.
#include "tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <system_error>

#include "base/error.h"
#include "io/file_write.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::string_view kBpePrefix = "bpe:";
constexpr const char* kFileName = "tokenizer.json";

}  // namespace

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  encode_to(text, [&ids](std::span<const std::int32_t> piece) { ids.insert(ids.end(), piece.begin(), piece.end()); });
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string bytes;
  for (const std::int32_t id : ids) append_bytes(id, bytes);
  return replace_invalid_utf8(bytes);
}

std::uint64_t Tokenizer::fingerprint() const {
  const std::string json = to_json();
  return XXH3_64bits(json.data(), json.size());
}

std::string StreamDecoder::push(std::int32_t id) {
  tokenizer_->append_bytes(id, pending_);
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
  const std::string text = replace_invalid_utf8(pending_);
  pending_.clear();
  return text;
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_folder) {
  const bool folder = std::filesystem::is_directory(file_or_folder);
  const std::filesystem::path path = folder ? file_or_folder / kFileName : file_or_folder;
  return parse_tokenizer(read_text_file(path), path.string());
}

void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& folder) {
  write_text_file(folder / kFileName, tokenizer.to_json() + "\n");
}

bool is_learned_tokenizer(std::string_view spec) { return spec == "char" || spec.substr(0, kBpePrefix.size()) == kBpePrefix; }

std::unique_ptr<Tokenizer> learn_tokenizer(std::string_view spec, std::span<const std::string_view> documents) {
  if (spec == "char") return std::make_unique<CharTokenizer>(CharTokenizer::learn(documents));
  if (!is_learned_tokenizer(spec)) {
    throw UserError(fmt::format("unknown tokenizer: use char, bpe:N or a tokenizer.json file; got \"{}\"", spec));
  }
  const std::string_view digits = spec.substr(kBpePrefix.size());
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || end != digits.data() + digits.size() || size > INT32_MAX) {
    throw UserError(fmt::format("bpe:N needs a number of tokens, as in bpe:4096; got \"{}\"", spec));
  }
  BpeTrainer trainer;
  for (const std::string_view document : documents) trainer.add_text(document);
  return std::make_unique<BpeTokenizer>(trainer.train(size, {std::string(kEndOfText)}));
}

}  // namespace reprise
