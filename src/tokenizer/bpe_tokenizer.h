// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE with GPT-2's pre-tokenizer. Lossless: every byte string has ids, and they decode to it.
#pragma once

#include "tokenizer/bpe_model.h"
#include "tokenizer/tokenizer.h"

namespace reprise {

/// The special token that stands between documents.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

class BpeTokenizer final : public Tokenizer {
 public:
  /// UserError when the vocabulary is not whole (BpeModel).
  explicit BpeTokenizer(BpeVocabulary vocabulary);

  std::string_view kind() const override { return "bpe"; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(model_.vocabulary().tokens.size()); }
  std::optional<std::int32_t> end_of_text() const override { return end_of_text_; }
  /// Added tokens are found in the text first, the longest of those that start earliest; the rest is cut into words.
  void encode_to(std::string_view text, const TokenSink& sink) const override;
  void append_bytes(std::int32_t id, std::string& bytes) const override;
  std::string to_json() const override;

  const BpeVocabulary& vocabulary() const { return model_.vocabulary(); }

 private:
  BpeModel model_;
  std::optional<std::int32_t> end_of_text_;
};

}  // namespace reprise
