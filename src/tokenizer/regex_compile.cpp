// SPDX-License-Identifier: Apache-2.0
// From the pattern's text to the program, in one pass by recursive descent.
#include "tokenizer/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/error.h"
#include "tokenizer/unicode_classes.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::size_t kMostInstructions = 20'000;
constexpr int kDeepest = 50;  // groups in groups
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kLargestCount = 1000;

/// The categories of a name: of one, "Lu", or of all that start with its letter, "L". 0: no such name.
std::uint32_t categories_of(std::string_view name) {
  static constexpr std::array<std::string_view, 30> kNames = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                                              "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                                              "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name || (name.size() == 1 && kNames[i][0] == name[0])) found |= std::uint32_t{1} << i;
  }
  return found;
}

}  // namespace

class RegexCompiler {
 public:
  RegexCompiler(std::string_view pattern, Regex& regex) : pattern_(pattern), regex_(regex) {}

  void compile() {
    alternatives(false, 0);
    if (position_ < pattern_.size()) fail("a ) without a (");
    emit({Regex::Code::end});
  }

 private:
  using Instruction = Regex::Instruction;
  using Part = CharacterSet::Part;

  struct Repeat {
    std::uint32_t least = 1;
    std::uint32_t most = 1;
    Regex::Taste taste = Regex::Taste::greedy;
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw UserError(fmt::format("the regular expression is not understood: {}; at byte {} of \"{}\"", what, position_, pattern_));
  }

  bool at(char c) const { return position_ < pattern_.size() && pattern_[position_] == c; }
  bool take(std::string_view text) {
    if (!pattern_.substr(position_).starts_with(text)) return false;
    position_ += text.size();
    return true;
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(regex_.program_.size()); }
  std::uint32_t emit(const Instruction& instruction) {
    if (regex_.program_.size() >= kMostInstructions) fail("it is too large");
    regex_.program_.push_back(instruction);
    return here() - 1;
  }

  /// a|b|c: split, a, jump to the end, split, b, ... Up to a ) or the end of the pattern.
  void alternatives(bool any_case, int depth) {
    if (depth > kDeepest) fail("groups are nested too deep");
    std::vector<std::uint32_t> jumps;
    for (;;) {
      const std::uint32_t begin = here();
      const std::uint32_t split = emit({Regex::Code::split});
      sequence(any_case, depth);
      if (!take("|")) {
        // The last alternative needs no split: it goes straight on.
        regex_.program_[split] = {Regex::Code::jump};
        regex_.program_[split].first = begin + 1;
        break;
      }
      jumps.push_back(emit({Regex::Code::jump}));
      regex_.program_[split].first = begin + 1;
      regex_.program_[split].second = here();
    }
    for (const std::uint32_t jump : jumps) regex_.program_[jump].first = here();
  }

  void sequence(bool any_case, int depth) {
    while (position_ < pattern_.size() && !at('|') && !at(')')) {
      if (at('(')) {
        group(any_case, depth);
      } else {
        const CharacterSet set = one_set(any_case);
        const Repeat repeat = read_repeat();
        Instruction instruction{Regex::Code::repeat};
        instruction.taste = repeat.taste;
        instruction.least = repeat.least;
        instruction.most = repeat.most;
        instruction.set = static_cast<std::uint32_t>(regex_.sets_.size());
        regex_.sets_.push_back(set);
        emit(instruction);
      }
    }
  }

  void group(bool any_case, int depth) {
    ++position_;
    const bool look = take("?=");
    const bool look_not = !look && take("?!");
    if (look || look_not) {
      const std::uint32_t instruction = emit({Regex::Code::look});
      regex_.program_[instruction].negated = look_not;
      alternatives(any_case, depth + 1);
      if (!take(")")) fail("a ( without a )");
      emit({Regex::Code::end});
      regex_.program_[instruction].first = here();
      if (position_ < pattern_.size() && std::string_view("?*+{").find(pattern_[position_]) != std::string_view::npos) {
        fail("a look-ahead cannot be repeated");
      }
      return;
    }
    if (take("?i:")) {
      any_case = true;
    } else if (!take("?:") && at('?')) {
      fail("of groups with ? these are known: (?: (?i: (?= (?!");
    }
    const std::uint32_t begin = here();
    alternatives(any_case, depth + 1);
    if (!take(")")) fail("a ( without a )");
    const Repeat repeat = read_repeat();
    if (repeat.taste == Regex::Taste::possessive) fail("a group cannot be repeated with no way back");
    if (repeat.least == 1 && repeat.most == 1) return;
    if (may_be_empty(begin, here())) fail("a group that may be empty cannot be repeated");
    const std::vector<Instruction> once(regex_.program_.begin() + begin, regex_.program_.end());
    regex_.program_.resize(begin);
    const auto body = [&] {
      const std::uint32_t shift = here() - begin;
      for (Instruction instruction : once) {
        instruction.first += shift;
        instruction.second += shift;
        emit(instruction);
      }
    };
    for (std::uint32_t i = 0; i < repeat.least; ++i) body();
    const bool lazy = repeat.taste == Regex::Taste::lazy;
    const auto leave_or = [lazy](Instruction& split, std::uint32_t stay, std::uint32_t leave) {
      split.first = lazy ? leave : stay;
      split.second = lazy ? stay : leave;
    };
    if (repeat.most == kNoLimit) {
      const std::uint32_t split = emit({Regex::Code::split});
      body();
      const std::uint32_t jump = emit({Regex::Code::jump});
      regex_.program_[jump].first = split;
      leave_or(regex_.program_[split], split + 1, here());
    } else {
      std::vector<std::uint32_t> splits;
      for (std::uint32_t i = repeat.least; i < repeat.most; ++i) {
        splits.push_back(emit({Regex::Code::split}));
        body();
      }
      for (const std::uint32_t split : splits) leave_or(regex_.program_[split], split + 1, here());
    }
  }

  /// Says whether some way through the instructions from `begin` to `end` takes no character.
  bool may_be_empty(std::uint32_t begin, std::uint32_t end) const {
    std::vector<bool> reached(end - begin + 1, false);
    reached[0] = true;
    for (std::uint32_t i = begin; i < end; ++i) {  // before groups are repeated all targets lie ahead, inner loops aside
      if (!reached[i - begin]) continue;
      const Instruction& instruction = regex_.program_[i];
      const auto reach = [&](std::uint32_t target) {
        if (target > i) reached[std::min(target, end) - begin] = true;
      };
      switch (instruction.code) {
        case Regex::Code::repeat:
          if (instruction.least == 0) reach(i + 1);
          break;
        case Regex::Code::split:
          reach(instruction.first);
          reach(instruction.second);
          break;
        case Regex::Code::jump:
        case Regex::Code::look: reach(instruction.first); break;
        case Regex::Code::end: break;
      }
    }
    return reached[end - begin];
  }

  std::uint32_t read_number() {
    std::uint32_t value = 0;
    const std::size_t begin = position_;
    while (position_ < pattern_.size() && pattern_[position_] >= '0' && pattern_[position_] <= '9') {
      value = value * 10 + static_cast<std::uint32_t>(pattern_[position_] - '0');
      if (value > kLargestCount) fail("a count is too large");
      ++position_;
    }
    if (position_ == begin) fail("a { without a count");
    return value;
  }

  Repeat read_repeat() {
    Repeat repeat;
    bool counted = false;
    if (take("?")) {
      repeat = {0, 1};
    } else if (take("*")) {
      repeat = {0, kNoLimit};
    } else if (take("+")) {
      repeat = {1, kNoLimit};
    } else if (take("{")) {
      counted = true;
      repeat.least = read_number();
      repeat.most = repeat.least;
      if (take(",")) repeat.most = at('}') ? kNoLimit : read_number();
      if (!take("}")) fail("a { without a }");
      if (repeat.most < repeat.least || repeat.most == 0) fail("a count that cannot be met");
    } else {
      return repeat;
    }
    if (take("?")) {
      if (counted && repeat.least == repeat.most) fail("? behind a fixed count means different things in different languages");
      repeat.taste = Regex::Taste::lazy;
    } else if (at('+')) {
      if (counted) fail("+ behind a count means different things in different languages");
      ++position_;
      repeat.taste = Regex::Taste::possessive;
    }
    if (position_ < pattern_.size() && std::string_view("?*+{").find(pattern_[position_]) != std::string_view::npos) {
      fail("a repeat of a repeat");
    }
    return repeat;
  }

  char32_t literal() {
    const Utf8Step step = read_utf8(pattern_, position_);
    if (!step.valid) fail("bytes that are not UTF-8");
    position_ += step.length;
    return step.code_point;
  }

  /// What stands behind a backslash.
  Part escape() {
    ++position_;
    if (position_ >= pattern_.size()) fail("a \\ with nothing behind it");
    const char c = pattern_[position_];
    Part part;
    part.negated = c == 'S' || c == 'D' || c == 'W' || c == 'P';
    switch (c) {
      case 's':
      case 'S': part.space = true; break;
      case 'w':
      case 'W': part.word = true; break;
      case 'd':
      case 'D': part.categories = categories_of("Nd"); break;
      case 'r': part.first = part.last = '\r'; break;
      case 'n': part.first = part.last = '\n'; break;
      case 't': part.first = part.last = '\t'; break;
      case 'p':
      case 'P': {
        ++position_;
        const std::size_t end = pattern_.find('}', position_);
        if (!at('{') || end == std::string_view::npos) fail("\\p without {}");
        part.categories = categories_of(pattern_.substr(position_ + 1, end - position_ - 1));
        if (part.categories == 0) fail("no general category has this name");
        position_ = end;
        break;
      }
      default:
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<std::uint8_t>(c) >= 0x80) {
          fail("an escape that is not known");
        }
        part.first = part.last = static_cast<char32_t>(c);
    }
    ++position_;
    return part;
  }

  static bool is_character(const Part& part) { return part.categories == 0 && !part.space && !part.word && part.first == part.last; }

  CharacterSet one_set(bool any_case) {
    CharacterSet set;
    if (at('[')) {
      bracket(set);
    } else if (at('\\')) {
      set.parts.push_back(escape());
    } else if (take(".")) {
      set.parts.push_back({'\n', '\n'});
      set.negated = true;
    } else if (std::string_view("^$?*+{]}").find(pattern_[position_]) != std::string_view::npos) {
      fail("this character has a meaning that is not known here; write it with a \\ to mean itself");
    } else {
      const char32_t c = literal();
      set.parts.push_back({c, c});
    }
    if (any_case) fold(set);
    set.close();
    return set;
  }

  void bracket(CharacterSet& set) {
    ++position_;
    set.negated = take("^");
    for (bool first = true; !at(']') || first; first = false) {
      if (position_ >= pattern_.size()) fail("a [ without a ]");
      if (at('[') || pattern_.substr(position_).starts_with("&&")) fail("brackets in brackets");
      if (at(']')) fail("an empty bracket");
      Part part;
      if (at('\\')) {
        part = escape();
      } else {
        part.first = part.last = literal();
      }
      const bool range = at('-') && position_ + 1 < pattern_.size() && pattern_[position_ + 1] != ']';
      if (range && is_character(part)) {
        ++position_;
        Part end;
        if (at('\\')) {
          end = escape();
        } else {
          end.first = end.last = literal();
        }
        if (!is_character(end) || end.first < part.first) fail("a range that is empty");
        part.last = end.first;
      }
      set.parts.push_back(part);
    }
    ++position_;
  }

  /// Adds the other case of every letter, and the two characters beyond ASCII that fold to ASCII letters.
  void fold(CharacterSet& set) {
    const std::size_t written = set.parts.size();
    for (std::size_t i = 0; i < written; ++i) {
      const Part part = set.parts[i];
      if (part.categories != 0 || part.space || part.word) fail("a class inside (?i:...)");
      for (char32_t c = part.first; c <= part.last; ++c) {
        if (c >= 0x80) fail("a character beyond ASCII inside (?i:...)");
        const bool upper = c >= 'A' && c <= 'Z';
        const bool lower = c >= 'a' && c <= 'z';
        if (!upper && !lower) continue;
        const char32_t other = upper ? c + 32 : c - 32;
        set.parts.push_back({other, other});
        if (c == 's' || c == 'S') set.parts.push_back({0x17F, 0x17F});    // long s
        if (c == 'k' || c == 'K') set.parts.push_back({0x212A, 0x212A});  // Kelvin sign
      }
    }
  }

  std::string_view pattern_;
  Regex& regex_;
  std::size_t position_ = 0;
};

Regex::Regex(std::string_view pattern) { RegexCompiler(pattern, *this).compile(); }

}  // namespace reprise
