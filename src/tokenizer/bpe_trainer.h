// SPDX-License-Identifier: Apache-2.0
// Learns a byte-level BPE vocabulary from text. The order of merges is that of Hugging Face's BPE trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/bpe_model.h"

namespace reprise {

/// Collects words with their counts, then learns merges. Deterministic: the result depends on the words and counts alone.
///
/// Ids: the special tokens in the order given, the 256 bytes in the order of their characters in the byte alphabet, then one
/// token a merge. Each merge joins the pair of tokens that stands side by side most often over all words (overlapping
/// occurrences counted, words weighted by their counts); equal counts: the pair with the smaller left id, then the smaller
/// right id. A merge whose bytes already are a token reuses its id. Words are those of gpt2_word_end.
/// Tokens of the result are written in the byte alphabet, special ones as they are.
class BpeTrainer {
 public:
  /// Cuts `text` into words and counts them. Texts are separate: no word goes across.
  void add_text(std::string_view text);
  /// Learns a vocabulary of exactly `vocabulary_size` tokens, special tokens and bytes included. UserError when the size is
  /// below those, or when the text has no more pairs that occur twice.
  BpeVocabulary train(std::int64_t vocabulary_size, const std::vector<std::string>& special_tokens) const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> word_counts_;
};

}  // namespace reprise
