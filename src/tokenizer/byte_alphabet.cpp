// SPDX-License-Identifier: Apache-2.0
// The mapping both ways. Bytes that are not printable take the characters from U+0100 in ascending order.
#include "tokenizer/byte_alphabet.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/utf8.h"

namespace reprise {

const std::array<char32_t, 256>& byte_alphabet() {
  static const std::array<char32_t, 256> alphabet = [] {
    std::array<char32_t, 256> table{};
    char32_t next = 0x100;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
      table[byte] = printable ? static_cast<char32_t>(byte) : next++;
    }
    return table;
  }();
  return alphabet;
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(text, byte_alphabet()[static_cast<std::uint8_t>(byte)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  static const std::vector<int> bytes_of = [] {
    std::vector<int> table;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto character = static_cast<std::size_t>(byte_alphabet()[byte]);
      if (table.size() <= character) table.resize(character + 1, -1);
      table[character] = static_cast<int>(byte);
    }
    return table;
  }();
  std::string bytes;
  for (std::size_t position = 0; position < text.size();) {
    const Utf8Step step = read_utf8(text, position);
    if (!step.valid || step.code_point >= bytes_of.size() || bytes_of[step.code_point] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(bytes_of[step.code_point])));
    position += step.length;
  }
  return bytes;
}

}  // namespace reprise
