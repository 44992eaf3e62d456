// SPDX-License-Identifier: Apache-2.0
// One id per Unicode code point of the training text, in ascending order.
//
// Its tokenizer.json has the outer form of Hugging Face's, with a model of our own, since none of theirs splits by code
// point without a pattern: "model": {"type": "reprise_char", "vocab": {"CHARACTER": id, ...}}; ids 0..n-1, ascending by
// code point. Everything else in the file is null or empty.
#pragma once

#include <array>
#include <set>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace reprise {

/// The "type" of its model in tokenizer.json.
inline constexpr std::string_view kCharModel = "reprise_char";

/// The characters of some texts; bytes that are not UTF-8 count as U+FFFD.
class TextCharacters {
 public:
  void add(std::string_view text);
  /// In ascending order.
  std::vector<char32_t> ascending() const;

 private:
  std::array<bool, 128> ascii_{};
  std::set<char32_t> others_;
};

class CharTokenizer final : public Tokenizer {
 public:
  /// Takes the characters in ascending order, without repeats.
  explicit CharTokenizer(std::vector<char32_t> characters);

  std::string_view kind() const override { return "char"; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(characters_.size()); }
  const SpecialTokens& special_tokens() const override { return special_tokens_; }
  const TextFrame& frame() const override { return frame_; }
  void encode_to(std::string_view text, const TokenSink& sink) const override;
  std::string_view token(std::int32_t id) const override;
  const TokenDecoder& decoder() const override { return decoder_; }
  std::string to_json() const override;
  std::string to_config_json() const override { return ""; }

  const std::vector<char32_t>& characters() const { return characters_; }

 private:
  std::vector<char32_t> characters_;
  std::vector<std::string> texts_;  // of the characters
  std::unordered_map<char32_t, std::int32_t> ids_;
  SpecialTokens special_tokens_;  // none
  TextFrame frame_;               // none
  TokenDecoder decoder_;          // puts the characters side by side
};

}  // namespace reprise
