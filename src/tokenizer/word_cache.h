// SPDX-License-Identifier: Apache-2.0
// The ids of words met before, since text repeats a few words most of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// Of bounded size: words that are long or come when it is full are not remembered.
class WordCache {
 public:
  WordCache();

  /// Returns a word's ids, or null when it is not remembered. Valid until the next `remember`.
  const std::int32_t* find(std::string_view word, std::uint64_t hash, std::size_t& count) const;
  void remember(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids);
  static std::uint64_t hash_of(std::string_view word);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    const char* text = nullptr;  // null: free
    std::uint32_t size = 0;
    std::uint32_t count = 0;
    std::size_t first = 0;  // in ids_
  };

  void grow();

  std::vector<Slot> slots_;  // open addressing, a power of two long
  std::size_t words_ = 0;
  std::deque<std::string> texts_;
  std::vector<std::int32_t> ids_;
};

}  // namespace reprise
