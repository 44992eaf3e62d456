// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back. A tokenizer is learned from a run's text (`char`, `bpe:N`) or read from a file, and is written
// into the run's model folder, so that the folder is enough to generate.
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

#include "tokenizer/post_processor.h"
#include "tokenizer/token_decoder.h"

namespace reprise {

/// Takes the ids of a text piece by piece, in order.
using TokenSink = std::function<void(std::span<const std::int32_t>)>;

/// Tokens by their role.
struct SpecialTokens {
  std::optional<std::int32_t> bos;  // stands before a text
  std::optional<std::int32_t> eos;  // ends a text, stands between documents
  std::optional<std::int32_t> pad;

  friend bool operator==(const SpecialTokens&, const SpecialTokens&) = default;
};

/// Immutable after it is made: any number of threads may use one.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Returns what kind it is: "char" or "bpe".
  virtual std::string_view kind() const = 0;
  /// Returns the number of ids; all ids are below it.
  virtual std::int64_t vocab_size() const = 0;
  virtual const SpecialTokens& special_tokens() const = 0;
  /// Returns the tokens that the tokenizer asks for around a text.
  virtual const TextFrame& frame() const = 0;
  /// Gives the ids of `text`, without the frame, to `sink`. UserError when a part of the text has no id.
  virtual void encode_to(std::string_view text, const TokenSink& sink) const = 0;
  /// Returns a token as tokenizer.json writes it, an added token normalized where it asks for it. UserError when there is none.
  virtual std::string_view token(std::int32_t id) const = 0;
  virtual const TokenDecoder& decoder() const = 0;
  /// Returns the tokenizer.json of this tokenizer (JSON text; char: see char_tokenizer.h).
  virtual std::string to_json() const = 0;
  /// Returns its tokenizer_config.json, which names the special tokens; nothing when the names in tokenizer.json tell them.
  virtual std::string to_config_json() const = 0;

  /// Returns the id that stands between documents, if there is one.
  std::optional<std::int32_t> end_of_text() const { return special_tokens().eos; }
  /// Returns the ids of `text`. UserError when a part of the text has no id.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Returns the same inside the frame.
  std::vector<std::int32_t> encode_framed(std::string_view text) const;
  /// Returns the text of `ids`; bytes that are not UTF-8 become U+FFFD.
  std::string decode(std::span<const std::int32_t> ids) const;
  /// Returns a hash of both files: equal for tokenizers that encode and decode alike.
  std::uint64_t fingerprint() const;
};

/// Turns ids into text as they come: characters are given out once their last byte has come.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Returns the characters that `id` completes; empty while one is incomplete.
  std::string push(std::int32_t id);
  /// Returns what was held back, U+FFFD for an incomplete character, and starts over.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  TokenDecoder::State state_;
  std::string pending_;  // the start of a character
};

/// Returns the ids that generation starts from: what the tokenizer asks for before a text, and the prompt's; when that is nothing,
/// a line break's, or what stands between documents, or else id 0. UserError as `encode`.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view prompt);

/// Learns a tokenizer from texts that come one after the other: `spec` is "char" or "bpe:N" (N tokens, <|endoftext|> included).
class TokenizerLearner {
 public:
  /// UserError for another spec.
  explicit TokenizerLearner(std::string_view spec);
  ~TokenizerLearner();
  TokenizerLearner(TokenizerLearner&&) noexcept;
  TokenizerLearner& operator=(TokenizerLearner&&) noexcept;

  void add(std::string_view text);
  /// UserError when the text is too small for N.
  std::unique_ptr<Tokenizer> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Learns a tokenizer from `documents`, as TokenizerLearner.
std::unique_ptr<Tokenizer> learn_tokenizer(std::string_view spec, std::span<const std::string_view> documents);
/// Says whether `spec` names a tokenizer to learn ("char", "bpe:N") rather than a file.
bool is_learned_tokenizer(std::string_view spec);
/// Loads a .tiktoken file (tiktoken.h), a GGUF file's tokenizer (gguf_tokenizer.h), or a tokenizer.json, alone or with the
/// tokenizer_config.json and special_tokens_map.json beside it: those of a folder, when a folder is given.
/// UserError as parse_tokenizer, or when a file cannot be read.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_folder);
/// Writes FOLDER/tokenizer.json, and tokenizer_config.json when there is one, atomically. UserError when that cannot be written.
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& folder);
/// Reads a tokenizer.json's text; `path` is for errors. UserError naming the component that is not supported, or what is wrong.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view json, const std::string& path);

}  // namespace reprise
