// SPDX-License-Identifier: Apache-2.0
// The regular expressions that tokenizer.json files cut text by: Unicode classes, greedy, lazy and possessive repeats, look-ahead.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise {

/// A set of code points: of a literal, an escape or a bracket.
struct CharacterSet {
  struct Part {
    char32_t first = 0;              // a range, when categories, space and word are off
    char32_t last = 0;
    std::uint32_t categories = 0;    // bit n: the general category numbered n
    bool space = false;              // \s
    bool word = false;               // \w
    bool negated = false;
  };

  std::vector<Part> parts;
  bool negated = false;
  std::bitset<128> ascii;            // filled by `close`: what the parts say of ASCII

  bool contains(char32_t code_point) const { return code_point < 128 ? ascii[code_point] : contains_slowly(code_point); }
  void close();

 private:
  bool contains_slowly(char32_t code_point) const;
};

/// Understood: literals, `.`, `[...]`, `\r \n \t \s \S \d \D \w \W \p{X} \P{X}`, escaped punctuation, `|`, `(...)`, `(?:...)`, `(?i:...)`,
/// `(?=...)`, `(?!...)`, and the repeats `? * + {m} {m,} {m,n}`, with `?` behind them for the shortest, and with `+` behind the
/// first three for no way back. Alternatives are tried in order, as in Perl and Oniguruma.
class Regex {
 public:
  /// UserError for any other syntax, naming the place in the pattern.
  explicit Regex(std::string_view pattern);

  struct Match {
    std::size_t begin;
    std::size_t end;
  };
  /// Returns the first match at or behind byte `from` that is not empty. Bytes that are not UTF-8 count as U+FFFD. UserError when
  /// the pattern tries more ways than a text of this length may take.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  friend class RegexCompiler;

  enum class Code : std::uint8_t { repeat, split, jump, look, end };
  enum class Taste : std::uint8_t { greedy, lazy, possessive };
  struct Instruction {
    Code code;
    Taste taste = Taste::greedy;  // repeat
    bool negated = false;         // look
    std::uint32_t set = 0;        // repeat: index of the set
    std::uint32_t least = 1;      // repeat
    std::uint32_t most = 1;       // repeat
    std::uint32_t first = 0;      // split: tried first; jump: the target; look: where to go on
    std::uint32_t second = 0;     // split: tried next
  };

  std::optional<std::size_t> run(std::string_view text, std::size_t position, std::size_t start, std::size_t& steps) const;

  std::vector<Instruction> program_;
  std::vector<CharacterSet> sets_;
};

}  // namespace reprise
