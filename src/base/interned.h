// SPDX-License-Identifier: Apache-2.0
// Interned strings: module paths, region paths and symbols repeat on thousands of nodes and compare in one instruction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

/// A string stored once per process. Equality is by content; ids follow first use, so order by `view()`, never by id.
class Interned {
 public:
  constexpr Interned() = default;
  Interned(std::string_view text);  // NOLINT: implicit on purpose, a path is written as a literal
  Interned(const char* text) : Interned(std::string_view(text)) {}
  Interned(const std::string& text) : Interned(std::string_view(text)) {}

  std::string_view view() const;
  std::string str() const { return std::string(view()); }
  constexpr bool empty() const { return id_ == 0; }

  friend constexpr bool operator==(Interned, Interned) = default;

 private:
  std::uint32_t id_ = 0;  // 0 is the empty string
};

}  // namespace reprise
