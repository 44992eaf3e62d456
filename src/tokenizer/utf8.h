// SPDX-License-Identifier: Apache-2.0
// Strict UTF-8 reading and writing, shared by the text loader and the tokenizers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprise {

/// What stands in text in place of bytes that are not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// One step through a text. An invalid part is U+FFFD, and as long as a decoder may skip: the longest start of a
/// well-formed sequence, at least one byte (Unicode 15, section 3.9, "maximal subparts").
struct Utf8Step {
  char32_t code_point = 0;
  std::size_t length = 0;  // bytes
  bool valid = false;
  bool cut_short = false;  // invalid only because the text ends: more bytes could complete it
};

/// Reads the code point that starts at byte `position`, which must lie inside `text`.
Utf8Step read_utf8(std::string_view text, std::size_t position);
/// Appends `code_point` (at most U+10FFFF) to `text`.
void append_utf8(std::string& text, char32_t code_point);
/// Returns `text` with each invalid part replaced by U+FFFD; adds the number of invalid bytes to `*invalid_bytes` when given.
std::string replace_invalid_utf8(std::string_view text, std::size_t* invalid_bytes = nullptr);

}  // namespace reprise
