// SPDX-License-Identifier: Apache-2.0
// Lexical rules that the printer and the parser of traces share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace reprise {

/// Characters beside letters and digits that a name may hold without quotes.
inline constexpr std::string_view kNameCharacters = "_.:/-";
/// Of a file name: no colon, which comes before the line.
inline constexpr std::string_view kFileCharacters = "_./-+";
/// An empty list of floating numbers in the fields of a custom op.
inline constexpr std::string_view kEmptyDoubles = "doubles[]";
/// The NaN printed as "nan"; others print their bits.
inline constexpr std::uint64_t kQuietNan = 0x7ff8000000000000u;

constexpr bool is_word_character(char c, std::string_view extra) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || extra.find(c) != std::string_view::npos;
}

/// Whether `name` can stand without quotes.
constexpr bool is_plain(std::string_view name, std::string_view extra) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) { return is_word_character(c, extra); });
}

}  // namespace reprise
