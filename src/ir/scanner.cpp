// SPDX-License-Identifier: Apache-2.0
#include "ir/scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>

#include "base/error.h"

namespace reprise {

void Scanner::fail_at(std::size_t position, const std::string& message) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw UserError(fmt::format("{}:{}:{}: {}", file_, line, position - start + 1, message));
}

void Scanner::expected(std::string_view what) const { fail(fmt::format("expected {}, found {}", what, found())); }

void Scanner::skip_blanks() {
  while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) ++position_;
  if (peek() == '#') position_ = std::min(text_.find('\n', position_), text_.size());
}

void Scanner::skip_lines() {
  skip_blanks();
  while (peek() == '\n' && !at_end()) {
    ++position_;
    skip_blanks();
  }
}

void Scanner::end_line() {
  skip_blanks();
  if (at_end()) return;
  if (peek() != '\n') expected("the end of the line");
  ++position_;
}

bool Scanner::accept(std::string_view symbol) {
  skip_blanks();
  if (!text_.substr(position_).starts_with(symbol)) return false;
  position_ += symbol.size();
  return true;
}

void Scanner::expect(std::string_view symbol) {
  if (!accept(symbol)) expected(fmt::format("'{}'", symbol));
}

std::string_view Scanner::plain_word(std::string_view extra) {
  skip_blanks();
  const std::size_t start = position_;
  while (!at_end() && is_word_character(peek(), extra)) ++position_;
  return since(start);
}

std::string_view Scanner::peek_word() {
  const std::size_t start = position_;
  const std::string_view word = plain_word();
  position_ = start;
  return word;
}

std::string Scanner::name(std::string_view what, std::string_view extra) {
  skip_blanks();
  if (peek() == '"') return quoted();
  const std::string_view word = plain_word(extra);
  if (word.empty()) expected(what);
  return std::string(word);
}

std::string Scanner::quoted() {
  expect("\"");
  std::string result;
  for (;;) {
    if (at_end() || peek() == '\n') expected("a closing '\"'");
    const char c = text_[position_++];
    if (c == '"') return result;
    result += c == '\\' ? escape() : c;
  }
}

double Scanner::floating() {
  skip_blanks();
  const std::size_t start = position_;
  if (accept("nan")) {
    if (peek() != ':') return std::bit_cast<double>(kQuietNan);
    ++position_;
    std::uint64_t bits = 0;
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), bits, 16);
    const bool is_nan = (bits & 0x7ff0000000000000u) == 0x7ff0000000000000u && (bits & 0xfffffffffffffu) != 0;
    if (error != std::errc{} || !is_nan) expected("the bits of a NaN in hexadecimal");
    position_ += static_cast<std::size_t>(end - begin);
    return std::bit_cast<double>(bits);
  }
  double value = 0;
  const char* const begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) fail_at(start, "the number does not fit in float64");
  if (error != std::errc{}) expected("a number");
  position_ += static_cast<std::size_t>(end - begin);
  return value;
}

bool Scanner::floating_next() const {
  std::size_t i = position_;
  if (i < text_.size() && text_[i] == '-') ++i;
  const std::size_t digits = i;
  while (i < text_.size() && text_[i] >= '0' && text_[i] <= '9') ++i;
  if (i == digits) return text_.substr(i).starts_with("inf") || text_.substr(i).starts_with("nan");
  return i < text_.size() && (text_[i] == '.' || text_[i] == 'e');
}

bool Scanner::bound_next() {
  if (peek() == '"') return true;
  const std::size_t start = position_;
  const bool bound = !plain_word(kNameCharacters).empty() && accept("<=");
  position_ = start;
  return bound;
}

std::string Scanner::found() const {
  if (at_end()) return "the end of the text";
  if (peek() == '\n') return "the end of the line";
  std::size_t end = position_ + 1;
  if (is_word_character(peek(), kNameCharacters)) {
    while (end < text_.size() && end - position_ < 40 && is_word_character(text_[end], kNameCharacters)) ++end;
  }
  return fmt::format("'{}'", text_.substr(position_, end - position_));
}

char Scanner::escape() {
  if (at_end()) expected("a closing '\"'");
  const char c = text_[position_++];
  if (c == '"' || c == '\\') return c;
  if (c != 'x' || position_ + 2 > text_.size()) fail_at(position_ - 1, "unknown escape, there are \\\", \\\\ and \\xHH");
  unsigned value = 0;
  const char* const begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
  if (error != std::errc{} || end != begin + 2) expected("two hexadecimal digits");
  position_ += 2;
  return static_cast<char>(value);
}

}  // namespace reprise
