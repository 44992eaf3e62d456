// SPDX-License-Identifier: Apache-2.0
#include "ir/name_table.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"

namespace reprise {
namespace {

std::uint64_t hash_of(std::string_view name) { return std::hash<std::string_view>{}(name); }

std::uint32_t upper_half(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

void NameTable::reserve(std::size_t names) {
  entries_.reserve(names);
  if (2 * names > slots_.size()) grow(std::bit_ceil(2 * names));
}

bool NameTable::insert(std::string_view name, std::uint32_t number) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow(std::max<std::size_t>(16, 2 * slots_.size()));
  Slot& slot = slots_[slot_of(name)];
  if (slot.entry != 0) return false;
  entries_.push_back({text_.size(), static_cast<std::uint32_t>(name.size()), number});
  text_ += name;
  slot = {upper_half(hash_of(name)), static_cast<std::uint32_t>(entries_.size())};
  return true;
}

std::optional<std::uint32_t> NameTable::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(name)];
  if (slot.entry == 0) return std::nullopt;
  return entries_[slot.entry - 1].number;
}

void NameTable::set(std::string_view name, std::uint32_t number) {
  REPRISE_CHECK(contains(name), "a name that is in the table");
  entries_[slots_[slot_of(name)].entry - 1].number = number;
}

std::size_t NameTable::slot_of(std::string_view name) const {
  const std::uint64_t hash = hash_of(name);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].entry != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == upper_half(hash) && name_of(entries_[slots_[at].entry - 1]) == name) break;
  }
  return at;
}

void NameTable::grow(std::size_t slots) {
  slots_.assign(slots, Slot());
  for (std::size_t e = 0; e < entries_.size(); ++e) {
    const std::string_view name = name_of(entries_[e]);
    slots_[slot_of(name)] = {upper_half(hash_of(name)), static_cast<std::uint32_t>(e + 1)};
  }
}

}  // namespace reprise
