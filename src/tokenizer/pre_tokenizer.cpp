// SPDX-License-Identifier: Apache-2.0
// The pattern's alternatives, tried by hand in the pattern's order.
#include "tokenizer/pre_tokenizer.h"

#include <array>
#include <cstdint>

#include "tokenizer/unicode_classes.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

enum class CharClass : std::uint8_t { letter, number, space, other };

CharClass classify(char32_t code_point) {
  if (is_unicode_letter(code_point)) return CharClass::letter;
  if (is_unicode_number(code_point)) return CharClass::number;
  return is_unicode_space(code_point) ? CharClass::space : CharClass::other;
}

struct ClassifiedStep {
  CharClass kind = CharClass::other;
  std::size_t length = 0;
};

ClassifiedStep classify_at(std::string_view text, std::size_t position) {
  static const std::array<CharClass, 128> ascii = [] {
    std::array<CharClass, 128> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = classify(static_cast<char32_t>(i));
    return table;
  }();
  const auto byte = static_cast<std::uint8_t>(text[position]);
  if (byte < 128) return {ascii[byte], 1};
  const Utf8Step step = read_utf8(text, position);
  return {step.valid ? classify(step.code_point) : CharClass::other, step.length};
}

std::size_t run_end(std::string_view text, std::size_t position, CharClass kind) {
  while (position < text.size()) {
    const ClassifiedStep step = classify_at(text, position);
    if (step.kind != kind) break;
    position += step.length;
  }
  return position;
}

/// Returns the length of the contraction at `position`, or 0.
std::size_t contraction_length(std::string_view text, std::size_t position) {
  const std::string_view rest = text.substr(position, 3);
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (rest.substr(0, ending.size()) == ending) return ending.size();
  }
  return 0;
}

}  // namespace

std::size_t gpt2_word_end(std::string_view text, std::size_t begin) {
  if (text[begin] == '\'') {
    if (const std::size_t length = contraction_length(text, begin); length != 0) return begin + length;
  }
  ClassifiedStep step = classify_at(text, begin);
  if (step.kind != CharClass::space) return run_end(text, begin + step.length, step.kind);
  if (text[begin] == ' ' && begin + 1 < text.size()) {
    const ClassifiedStep next = classify_at(text, begin + 1);
    if (next.kind != CharClass::space) return run_end(text, begin + 1 + next.length, next.kind);
  }
  // White space: before a word its last character is left over, to go with the word or alone.
  std::size_t last = begin;
  std::size_t end = begin;
  while (end < text.size()) {
    step = classify_at(text, end);
    if (step.kind != CharClass::space) return last > begin ? last : end;
    last = end;
    end += step.length;
  }
  return end;
}

}  // namespace reprise
