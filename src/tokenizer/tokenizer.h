// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back. A tokenizer is learned from a run's text (`char`, `bpe:N`) or read from a tokenizer.json, and
// is written into the run's model folder, so that the folder is enough to generate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// Takes the ids of a text piece by piece, in order.
using TokenSink = std::function<void(std::span<const std::int32_t>)>;

/// Immutable after it is made: any number of threads may use one.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Returns what kind it is: "char" or "bpe".
  virtual std::string_view kind() const = 0;
  /// Returns the number of ids; all ids are below it.
  virtual std::int64_t vocab_size() const = 0;
  /// Returns the id that stands between documents, if there is one.
  virtual std::optional<std::int32_t> end_of_text() const = 0;
  /// Gives the ids of `text` to `sink`. UserError when a character has no id.
  virtual void encode_to(std::string_view text, const TokenSink& sink) const = 0;
  /// Appends the bytes of token `id` to `bytes`; a token may end inside a character. UserError when there is no such id.
  virtual void append_bytes(std::int32_t id, std::string& bytes) const = 0;
  /// Returns the tokenizer.json of this tokenizer (JSON text; char: see char_tokenizer.h).
  virtual std::string to_json() const = 0;

  /// Returns the ids of `text`. UserError when a character has no id.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Returns the text of `ids`; bytes that are not UTF-8 become U+FFFD.
  std::string decode(std::span<const std::int32_t> ids) const;
  /// Returns a hash of to_json(): equal for tokenizers that encode and decode alike.
  std::uint64_t fingerprint() const;
};

/// Turns ids into text as they come: characters are given out once their last byte has come.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Returns the characters that `id` completes; empty while one is incomplete.
  std::string push(std::int32_t id);
  /// Returns U+FFFD when the ids ended inside a character, else nothing, and starts over.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;  // the start of a character
};

/// Learns a tokenizer from `documents`: `spec` is "char" or "bpe:N" (N tokens, <|endoftext|> included). UserError for another
/// spec, or a text too small for N.
std::unique_ptr<Tokenizer> learn_tokenizer(std::string_view spec, std::span<const std::string_view> documents);
/// Says whether `spec` names a tokenizer to learn ("char", "bpe:N") rather than a file.
bool is_learned_tokenizer(std::string_view spec);
/// Loads a tokenizer.json, or the one in a folder. UserError as parse_tokenizer, or when it cannot be read.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_folder);
/// Writes FOLDER/tokenizer.json atomically. UserError when that cannot be written.
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& folder);
/// Reads a tokenizer.json's text; `path` is for errors. UserError naming the component that is not supported, or what is wrong.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view json, const std::string& path);

}  // namespace reprise
