// SPDX-License-Identifier: Apache-2.0
// The patterns' alternatives, tried by hand in the patterns' order.
#include "tokenizer/word_patterns.h"

#include <array>
#include <cstdint>

#include "tokenizer/unicode_classes.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

enum class CharClass : std::uint8_t { letter, number, space, other };

CharClass classify(char32_t code_point) {
  const GeneralCategory category = general_category(code_point);
  if (category <= GeneralCategory::Lo) return CharClass::letter;
  if (category >= GeneralCategory::Nd && category <= GeneralCategory::No) return CharClass::number;
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

/// The same for any case; U+017F, long s, folds to s.
std::size_t folded_contraction_length(std::string_view text, std::size_t position) {
  const auto lower = [text](std::size_t at) {
    const char c = at < text.size() ? text[at] : '\0';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = lower(position + 1);
  const char second = lower(position + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) return 3;
  return text.substr(position + 1, 2) == "\xC5\xBF" ? 3 : 0;
}

/// Returns the end of the white space that starts at `begin`: all but the last character, when a word comes behind and there
/// are more than one.
std::size_t space_end(std::string_view text, std::size_t begin) {
  std::size_t last = begin;
  std::size_t end = begin;
  while (end < text.size()) {
    const ClassifiedStep step = classify_at(text, end);
    if (step.kind != CharClass::space) return last > begin ? last : end;
    last = end;
    end += step.length;
  }
  return end;
}

bool is_line_break(char c) { return c == '\r' || c == '\n'; }

std::size_t line_breaks_end(std::string_view text, std::size_t position) {
  while (position < text.size() && is_line_break(text[position])) ++position;
  return position;
}

std::size_t llama3_like_word_end(std::string_view text, std::size_t begin, int digits) {
  if (text[begin] == '\'') {
    if (const std::size_t length = folded_contraction_length(text, begin); length != 0) return begin + length;
  }
  const ClassifiedStep step = classify_at(text, begin);
  const std::size_t after = begin + step.length;
  switch (step.kind) {
    case CharClass::letter: return run_end(text, after, CharClass::letter);
    case CharClass::number: {
      std::size_t end = after;
      while (--digits > 0 && end < text.size()) {
        const ClassifiedStep next = classify_at(text, end);
        if (next.kind != CharClass::number) break;
        end += next.length;
      }
      return end;
    }
    case CharClass::other:
    case CharClass::space: break;
  }
  if (after < text.size() && !is_line_break(text[begin]) && classify_at(text, after).kind == CharClass::letter) {
    return run_end(text, after, CharClass::letter);
  }
  if (step.kind == CharClass::other) return line_breaks_end(text, run_end(text, after, CharClass::other));
  if (text[begin] == ' ' && after < text.size() && classify_at(text, after).kind == CharClass::other) {
    return line_breaks_end(text, run_end(text, after, CharClass::other));
  }
  const std::size_t all = run_end(text, begin, CharClass::space);
  const std::size_t line_break = text.substr(begin, all - begin).find_last_of("\r\n");
  if (line_break != std::string_view::npos) return begin + line_break + 1;
  return space_end(text, begin);
}

}  // namespace

std::size_t gpt2_word_end(std::string_view text, std::size_t begin) {
  if (text[begin] == '\'') {
    if (const std::size_t length = contraction_length(text, begin); length != 0) return begin + length;
  }
  const ClassifiedStep step = classify_at(text, begin);
  if (step.kind != CharClass::space) return run_end(text, begin + step.length, step.kind);
  if (text[begin] == ' ' && begin + 1 < text.size()) {
    const ClassifiedStep next = classify_at(text, begin + 1);
    if (next.kind != CharClass::space) return run_end(text, begin + 1 + next.length, next.kind);
  }
  return space_end(text, begin);
}

std::size_t llama3_word_end(std::string_view text, std::size_t begin) { return llama3_like_word_end(text, begin, 3); }

std::size_t qwen2_word_end(std::string_view text, std::size_t begin) { return llama3_like_word_end(text, begin, 1); }

}  // namespace reprise
