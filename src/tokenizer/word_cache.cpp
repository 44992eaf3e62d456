// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/word_cache.h"

#include <xxhash.h>

#include <utility>

namespace reprise {

namespace {

constexpr std::size_t kFirstSlots = 1 << 10;
constexpr std::size_t kMostWords = 1 << 18;
constexpr std::size_t kLongestWord = 64;  // bytes; longer ones hardly repeat

}  // namespace

WordCache::WordCache() : slots_(kFirstSlots) {}

std::uint64_t WordCache::hash_of(std::string_view word) { return XXH3_64bits(word.data(), word.size()); }

const std::int32_t* WordCache::find(std::string_view word, std::uint64_t hash, std::size_t& count) const {
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.text == nullptr) return nullptr;
    if (slot.hash != hash || std::string_view(slot.text, slot.size) != word) continue;
    count = slot.count;
    return ids_.data() + slot.first;
  }
}

void WordCache::remember(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids) {
  if (word.size() > kLongestWord || words_ == kMostWords) return;
  if (++words_ * 2 > slots_.size()) grow();
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].text != nullptr) at = (at + 1) & (slots_.size() - 1);
  const std::string& text = texts_.emplace_back(word);
  slots_[at] = {hash, text.data(), static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(ids.size()), ids_.size()};
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

void WordCache::grow() {
  std::vector<Slot> before(slots_.size() * 2);
  std::swap(before, slots_);
  for (const Slot& slot : before) {
    if (slot.text == nullptr) continue;
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].text != nullptr) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

}  // namespace reprise
