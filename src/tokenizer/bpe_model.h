// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE as data, and the merging of one word. Learned by bpe_trainer, read and written by tokenizer_json, used by
// the bpe tokenizer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reprise {

/// A byte-level BPE vocabulary. `tokens[id]` is the bytes of a token.
struct BpeVocabulary {
  std::vector<std::string> tokens;
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // earlier ones go first; the result is the token of both's bytes
  std::vector<std::int32_t> added;                            // ids found whole in the text before it is cut into words

  friend bool operator==(const BpeVocabulary&, const BpeVocabulary&) = default;
};

/// Applies the merges of a vocabulary. Immutable, so any number of threads may use one.
class BpeModel {
 public:
  /// Takes a vocabulary with distinct tokens that holds every single byte and the result of every merge; anything else is a
  /// UserError saying which token is missing or doubled.
  explicit BpeModel(BpeVocabulary vocabulary);

  const BpeVocabulary& vocabulary() const { return vocabulary_; }
  /// Returns the id of the token whose bytes are `bytes`, or nothing.
  std::optional<std::int32_t> find(std::string_view bytes) const;
  /// Appends the ids of `word`: again and again the earliest merge, leftmost first. O(n log n) in the word's bytes.
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t result;
  };

  BpeVocabulary vocabulary_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // views into vocabulary_.tokens
  std::array<std::int32_t, 256> byte_ids_{};
  std::unordered_map<std::uint64_t, Merge> merges_;  // by pair of ids
};

/// Packs a pair of ids into a key that orders like the pair.
constexpr std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

}  // namespace reprise
