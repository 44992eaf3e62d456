// SPDX-License-Identifier: Apache-2.0
// The ids of words met before, since text repeats a few words most of the time. A word and its first ids
// share one cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace reprise {

/// Of bounded size: words that are long or come when it is full are not remembered.
class WordCache {
 public:
  WordCache();

  /// Returns a word's ids, or nothing when it is not remembered (a word has at least one). Valid until the next `remember`.
  std::span<const std::int32_t> find(std::string_view word, std::uint64_t hash) const;
  /// Remembers a word that `find` does not.
  void remember(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids);
  static std::uint64_t hash_of(std::string_view word);

 private:
  static constexpr std::size_t kLongestWord = 22;  // bytes
  static constexpr std::size_t kMostIds = 24;      // no word of so many bytes has more

  struct alignas(64) Slot {
    std::uint64_t hash = 0;
    std::uint8_t size = 0;  // 0: free
    std::uint8_t count = 0;
    char text[kLongestWord] = {};
    std::int32_t ids[kMostIds] = {};
  };
  static_assert(sizeof(Slot) == 128);

  Slot& free_slot(std::uint64_t hash);
  void grow();

  std::vector<Slot> slots_;  // open addressing, a power of two long
  std::size_t words_ = 0;
};

}  // namespace reprise
