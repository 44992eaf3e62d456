// SPDX-License-Identifier: Apache-2.0
// The well-formed sequences of Unicode 15, table 3-7: only the second byte's range depends on the first.
#include "tokenizer/utf8.h"

#include <cstdint>

namespace reprise {

namespace {

struct Lead {
  std::size_t length = 0;  // 0: no sequence starts with this byte
  std::uint8_t second_low = 0x80;
  std::uint8_t second_high = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

}  // namespace

Utf8Step read_utf8(std::string_view text, std::size_t position) {
  const auto first = static_cast<std::uint8_t>(text[position]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {0xFFFD, 1, false, false};
  char32_t value = first & (0xFFu >> (lead.length + 1));
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (position + i >= text.size()) return {0xFFFD, i, false, true};
    const auto byte = static_cast<std::uint8_t>(text[position + i]);
    const std::uint8_t low = i == 1 ? lead.second_low : 0x80;
    const std::uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {0xFFFD, i, false, false};
    value = (value << 6) | (byte & 0x3Fu);
  }
  return {value, lead.length, true, false};
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto byte = [&text](char32_t bits) { text.push_back(static_cast<char>(static_cast<std::uint8_t>(bits))); };
  if (code_point < 0x80) {
    byte(code_point);
  } else if (code_point < 0x800) {
    byte(0xC0 | (code_point >> 6));
    byte(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    byte(0xE0 | (code_point >> 12));
    byte(0x80 | ((code_point >> 6) & 0x3F));
    byte(0x80 | (code_point & 0x3F));
  } else {
    byte(0xF0 | (code_point >> 18));
    byte(0x80 | ((code_point >> 12) & 0x3F));
    byte(0x80 | ((code_point >> 6) & 0x3F));
    byte(0x80 | (code_point & 0x3F));
  }
}

std::string replace_invalid_utf8(std::string_view text, std::size_t* invalid_bytes) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const Utf8Step step = read_utf8(text, position);
    result += step.valid ? text.substr(position, step.length) : kReplacementCharacter;
    if (!step.valid && invalid_bytes != nullptr) *invalid_bytes += step.length;
    position += step.length;
  }
  return result;
}

}  // namespace reprise
