// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/word_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace reprise {

namespace {

constexpr std::size_t kFirstSlots = 1 << 10;
constexpr std::size_t kMostWords = 1 << 17;

}  // namespace

WordCache::WordCache() : slots_(kFirstSlots) {}

std::uint64_t WordCache::hash_of(std::string_view word) { return XXH3_64bits(word.data(), word.size()); }

std::span<const std::int32_t> WordCache::find(std::string_view word, std::uint64_t hash) const {
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.size == 0) return {};
    if (slot.hash == hash && std::string_view(slot.text, slot.size) == word) return {slot.ids, slot.count};
  }
}

void WordCache::remember(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids) {
  if (word.empty() || word.size() > kLongestWord || ids.empty() || ids.size() > kMostIds || words_ == kMostWords) return;
  if (++words_ * 2 > slots_.size()) grow();
  Slot& slot = free_slot(hash);
  slot.hash = hash;
  slot.size = static_cast<std::uint8_t>(word.size());
  slot.count = static_cast<std::uint8_t>(ids.size());
  std::copy(word.begin(), word.end(), slot.text);
  std::copy(ids.begin(), ids.end(), slot.ids);
}

WordCache::Slot& WordCache::free_slot(std::uint64_t hash) {
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].size != 0) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

void WordCache::grow() {
  std::vector<Slot> before(slots_.size() * 2);
  std::swap(before, slots_);
  for (const Slot& slot : before) {
    if (slot.size != 0) free_slot(slot.hash) = slot;
  }
}

}  // namespace reprise
