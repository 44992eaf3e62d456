// SPDX-License-Identifier: Apache-2.0
// Tokens of a trace's text form.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "ir/text_form.h"

namespace reprise {

/// The cursor over the text: tokens of one line, since a line is a statement.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// UserError "FILE:LINE:COLUMN: message"; of the place that comes next, or of `position`.
  [[noreturn]] void fail(const std::string& message) const { fail_at(position_, message); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const;
  /// The same: "expected WHAT, found" what comes next.
  [[noreturn]] void expected(std::string_view what) const;

  std::size_t position() const { return position_; }
  std::string_view since(std::size_t start) const { return text_.substr(start, position_ - start); }
  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }

  /// Skips blanks and a comment, but not the end of the line.
  void skip_blanks();
  void skip_lines();
  void end_line();

  /// Takes `symbol` if it comes next.
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);

  /// A word of letters, digits and `extra`; empty when none comes next.
  std::string_view plain_word(std::string_view extra = "_");
  std::string_view peek_word();
  /// A plain or quoted name.
  std::string name(std::string_view what, std::string_view extra = kNameCharacters);
  std::string quoted();
  template <class Integer>
  Integer integer(std::string_view what) {
    skip_blanks();
    Integer value{};
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail(std::string(what) + " is out of range");
    if (error != std::errc{}) expected(what);
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }
  double floating();
  /// Whether the number that comes next is floating: it holds a point, an exponent, or is not finite.
  bool floating_next() const;
  /// Whether an extent's bound (`symbol<=`) comes next.
  bool bound_next();

 private:
  std::string found() const;
  char escape();

  std::string_view text_;
  std::string_view file_;
  std::size_t position_ = 0;
};

}  // namespace reprise
