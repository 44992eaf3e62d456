// SPDX-License-Identifier: Apache-2.0
// One id per Unicode code point of the training text, in ascending order.
//
// Its tokenizer.json has the outer form of Hugging Face's, with a model of our own, since none of theirs splits by code
// point without a pattern: "model": {"type": "reprise_char", "vocab": {"CHARACTER": id, ...}}; ids 0..n-1, ascending by
// code point. Everything else in the file is null or empty.
#pragma once

#include <unordered_map>

#include "tokenizer/tokenizer.h"

namespace reprise {

class CharTokenizer final : public Tokenizer {
 public:
  /// Takes the characters in ascending order, without repeats.
  explicit CharTokenizer(std::vector<char32_t> characters);
  /// Collects the characters of `documents`; bytes that are not UTF-8 count as U+FFFD.
  static CharTokenizer learn(std::span<const std::string_view> documents);

  std::string_view kind() const override { return "char"; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(characters_.size()); }
  std::optional<std::int32_t> end_of_text() const override { return std::nullopt; }
  void encode_to(std::string_view text, const TokenSink& sink) const override;
  void append_bytes(std::int32_t id, std::string& bytes) const override;
  std::string to_json() const override;

  const std::vector<char32_t>& characters() const { return characters_; }

 private:
  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, std::int32_t> ids_;
};

}  // namespace reprise
