// SPDX-License-Identifier: Apache-2.0
// GPT-2's byte-to-unicode mapping: how tokenizer.json writes arbitrary bytes as printable characters.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace reprise {

/// Returns the character that stands for each byte: the printable ones of Latin-1 for themselves, the rest from U+0100 up.
const std::array<char32_t, 256>& byte_alphabet();
/// Writes `bytes` in the byte alphabet, as UTF-8.
std::string to_byte_alphabet(std::string_view bytes);
/// Returns the bytes that `text` stands for, or nothing when a character is not of the byte alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace reprise
