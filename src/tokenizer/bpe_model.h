// SPDX-License-Identifier: Apache-2.0
// A BPE vocabulary as data, and the merging of one word. Learned by bpe_trainer, read and written by tokenizer_json, used by
// the bpe tokenizer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace reprise {

/// The tables of a BPE model. A token is written as in tokenizer.json: in the byte alphabet when the model works on bytes,
/// as plain text when it works on characters.
struct BpeVocabulary {
  std::vector<std::string> tokens;  // by id; empty: no token has this id
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // earlier ones go first; the result is the token of both's text

  friend bool operator==(const BpeVocabulary&, const BpeVocabulary&) = default;
};

/// What a word is made of before the first merge.
enum class BpeUnit { byte, character };

struct BpeSettings {
  bool ignore_merges = false;  // a word that is a token whole is that token, whatever the merges say
  bool byte_fallback = false;  // a unit without a token becomes the tokens <0x00>..<0xFF> of its bytes, when all are there
  bool fuse_unknown = false;   // neighbouring units without a token become one unknown token
  std::optional<std::string> unknown;  // the token of what has none

  friend bool operator==(const BpeSettings&, const BpeSettings&) = default;
};

/// Applies the merges of a vocabulary. Immutable, so any number of threads may use one.
class BpeModel {
 public:
  /// Takes a vocabulary with distinct tokens that holds the result of every merge and the unknown token; anything else is a
  /// UserError saying which token is missing or doubled.
  BpeModel(BpeVocabulary vocabulary, BpeSettings settings, BpeUnit unit);

  const BpeVocabulary& vocabulary() const { return vocabulary_; }
  const BpeSettings& settings() const { return settings_; }
  /// Returns the id of a token as the vocabulary writes it, or nothing.
  std::optional<std::int32_t> find(std::string_view token) const;
  /// Appends the ids of `word` (plain bytes or text): again and again the earliest merge, leftmost first. O(n log n) in the
  /// word's bytes. UserError when a unit has no token and there is no unknown token.
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;
  /// Returns a place behind `begin` where `text` may be cut in two without a change of ids: the next U+2581 that no merge joins
  /// to the character before it, or the end.
  std::size_t cut_behind(std::string_view text, std::size_t begin) const;

 private:
  struct Merge {
    std::int32_t rank = 0;
    std::int32_t result = -1;  // -1: no merge
  };
  struct MergeSlot {
    std::uint64_t pair = 0;
    Merge merge;
  };

  void add_merge(std::uint64_t pair, Merge merge);
  Merge find_merge(std::uint64_t pair) const;
  void find_cuts();
  void append_units(std::string_view word, std::vector<std::int32_t>& ids) const;
  void merge_few(std::vector<std::int32_t>& units, std::size_t begin) const;
  void merge_many(std::vector<std::int32_t>& units, std::size_t begin) const;

  BpeVocabulary vocabulary_;
  BpeSettings settings_;
  BpeUnit unit_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // views into vocabulary_.tokens
  std::array<std::int32_t, 256> byte_ids_{};                // of bytes as units, or of <0x00>..<0xFF>; -1: none
  std::int32_t unknown_ = -1;
  std::vector<MergeSlot> merges_;                           // open addressing, a power of two long
  bool may_cut_ = false;
  std::unordered_set<char32_t> joined_before_mark_;         // characters that stand before U+2581 inside a token
};

/// Packs a pair of ids into a key that orders like the pair.
constexpr std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

}  // namespace reprise
