// SPDX-License-Identifier: Apache-2.0
// A program of few instructions with a stack of places to go back to. A repeat of one set, which is nearly all that such patterns
// have, is one instruction and one entry of the stack, however long it runs.
#include "tokenizer/regex.h"

#include <algorithm>

#include "base/error.h"
#include "tokenizer/unicode_classes.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::size_t kStepsPerByte = 1000;  // of one search; patterns in use take fewer than ten
constexpr std::size_t kFreeSteps = 100'000;

struct Character {
  char32_t code_point;
  std::size_t length;
};

Character character_at(std::string_view text, std::size_t position) {
  const auto byte = static_cast<std::uint8_t>(text[position]);
  if (byte < 0x80) return {byte, 1};
  const Utf8Step step = read_utf8(text, position);
  return {step.code_point, step.length};
}

/// Returns the start of the character that ends at `end`, no earlier than `begin`, which starts one.
std::size_t step_back(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t earliest = end - begin > 4 ? end - 4 : begin;
  for (std::size_t start = earliest; start < end; ++start) {
    if (start + character_at(text, start).length == end) return start;
  }
  return end - 1;
}

}  // namespace

void CharacterSet::close() {
  for (char32_t code_point = 0; code_point < 128; ++code_point) ascii[code_point] = contains_slowly(code_point);
}

bool CharacterSet::contains_slowly(char32_t code_point) const {
  for (const Part& part : parts) {
    bool inside = false;
    if (part.categories != 0) {
      inside = (part.categories >> static_cast<unsigned>(general_category(code_point)) & 1u) != 0;
    } else if (part.space) {
      inside = is_unicode_space(code_point);
    } else if (part.word) {
      inside = is_unicode_word(code_point);
    } else {
      inside = code_point >= part.first && code_point <= part.last;
    }
    if (inside != part.negated) return !negated;
  }
  return negated;
}

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from) const {
  std::size_t steps = kFreeSteps + kStepsPerByte * (text.size() - std::min(from, text.size()));
  for (std::size_t position = from; position < text.size(); position += character_at(text, position).length) {
    const auto end = run(text, position, 0, steps);
    if (end && *end > position) return Match{position, *end};
  }
  return std::nullopt;
}

std::optional<std::size_t> Regex::run(std::string_view text, std::size_t position, std::size_t start, std::size_t& steps) const {
  struct Way {
    std::size_t instruction;
    std::size_t position;  // where to go on; of a repeat, the end it may shrink or grow from
    std::size_t limit;     // of a repeat: the least end (greedy), or the characters it may still take (lazy)
    bool repeats;
  };
  std::vector<Way> ways;
  std::size_t at = start;
  const auto go_back = [&]() -> bool {
    while (!ways.empty()) {
      Way& way = ways.back();
      if (!way.repeats) {
        at = way.instruction;
        position = way.position;
        ways.pop_back();
        return true;
      }
      const Instruction& repeat = program_[way.instruction];
      if (repeat.taste == Taste::greedy) {
        if (way.position > way.limit) {
          way.position = step_back(text, way.limit, way.position);
          position = way.position;
          at = way.instruction + 1;
          return true;
        }
      } else if (way.limit > 0 && way.position < text.size()) {
        const Character character = character_at(text, way.position);
        if (sets_[repeat.set].contains(character.code_point)) {
          --way.limit;
          way.position += character.length;
          position = way.position;
          at = way.instruction + 1;
          return true;
        }
      }
      ways.pop_back();
    }
    return false;
  };
  for (;;) {
    if (steps-- == 0) {
      throw UserError("the pattern that the tokenizer cuts text by takes too many steps on this text; take another tokenizer");
    }
    const Instruction& instruction = program_[at];
    bool goes_on = true;
    switch (instruction.code) {
      case Code::repeat: {
        const CharacterSet& set = sets_[instruction.set];
        const std::uint32_t wanted = instruction.taste == Taste::lazy ? instruction.least : instruction.most;
        std::uint32_t count = 0;
        std::size_t end = position;
        std::size_t least_end = position;
        while (count < wanted && end < text.size()) {
          const Character character = character_at(text, end);
          if (!set.contains(character.code_point)) break;
          end += character.length;
          if (++count == instruction.least) least_end = end;
        }
        goes_on = count >= instruction.least;
        if (!goes_on) break;
        if (instruction.taste == Taste::greedy && end > least_end) ways.push_back({at, end, least_end, true});
        if (instruction.taste == Taste::lazy && instruction.most > instruction.least) {
          ways.push_back({at, end, instruction.most - instruction.least, true});
        }
        position = end;
        ++at;
        break;
      }
      case Code::split:
        ways.push_back({instruction.second, position, 0, false});
        at = instruction.first;
        break;
      case Code::jump: at = instruction.first; break;
      case Code::look:
        goes_on = run(text, position, at + 1, steps).has_value() != instruction.negated;
        at = instruction.first;
        break;
      case Code::end: return position;
    }
    if (!goes_on && !go_back()) return std::nullopt;
  }
}

}  // namespace reprise
