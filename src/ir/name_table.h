// SPDX-License-Identifier: Apache-2.0
// Names and a number for each, in flat memory: every trace has one, passes copy it, and every new value asks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

class NameTable {
 public:
  /// Makes room for `names` names, to save the work of growing.
  void reserve(std::size_t names);
  /// Adds a name with its number; false, and nothing changes, when the name is there.
  bool insert(std::string_view name, std::uint32_t number);
  bool empty() const { return entries_.empty(); }
  bool contains(std::string_view name) const { return slots_.empty() ? false : slots_[slot_of(name)].entry != 0; }
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// Gives a name that is there another number.
  void set(std::string_view name, std::uint32_t number);

 private:
  struct Entry {
    std::size_t begin;  // in text_
    std::uint32_t length;
    std::uint32_t number;
  };
  /// Of an open-addressed table: most names that are asked for are new, and end at an empty slot with one look.
  struct Slot {
    std::uint32_t hash = 0;   // the upper half, which the place does not tell
    std::uint32_t entry = 0;  // index + 1; 0: empty
  };

  std::string_view name_of(const Entry& entry) const { return {text_.data() + entry.begin, entry.length}; }
  /// The slot that holds the name, or the empty one where it would go. There must be an empty slot.
  std::size_t slot_of(std::string_view name) const;
  void grow(std::size_t slots);

  std::string text_;            // all names, one behind the other
  std::vector<Entry> entries_;  // in order of insertion
  std::vector<Slot> slots_;     // a power of two, at most half of them used
};

}  // namespace reprise
