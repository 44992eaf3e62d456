// SPDX-License-Identifier: Apache-2.0
// Only stretches that could change are taken apart: a character that may compose, reorder or decompose, the one before it,
// and those like it behind it. The rest is copied.
#include "tokenizer/unicode_compositions.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr char32_t kFirstUnsettled = 0x300;  // nothing below it moves or composes with what stands before it
constexpr char32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;  // kTrailing itself: none
constexpr char32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr char32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

bool in(char32_t value, char32_t first, char32_t count) { return value >= first && value < first + count; }

std::uint8_t combining_class(char32_t code_point) {
  const CombiningClassStart* end = kCombiningClassStarts + kCombiningClassStartCount;
  const CombiningClassStart* after =
      std::upper_bound(kCombiningClassStarts, end, code_point,
                       [](char32_t value, const CombiningClassStart& start) { return value < start.first; });
  return after == kCombiningClassStarts ? std::uint8_t{0} : (after - 1)->combining_class;
}

const CanonicalMapping* mapping_of(char32_t code_point) {
  const CanonicalMapping* end = kCanonicalMappings + kCanonicalMappingCount;
  const CanonicalMapping* found =
      std::lower_bound(kCanonicalMappings, end, code_point,
                       [](const CanonicalMapping& mapping, char32_t value) { return mapping.composed < value; });
  return found != end && found->composed == code_point ? found : nullptr;
}

/// Returns the composition of two characters, or 0.
char32_t compose(char32_t first, char32_t second) {
  if (in(first, kLeading, kLeadingCount) && in(second, kVowels, kVowelCount)) {
    return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowels)) * kTrailingCount;
  }
  if (in(first, kSyllables, kSyllableCount) && (first - kSyllables) % kTrailingCount == 0 &&
      in(second, kTrailing + 1, kTrailingCount - 1)) {
    return first + (second - kTrailing);
  }
  const Composition* end = kCompositions + kCompositionCount;
  const Composition* found = std::lower_bound(kCompositions, end, Composition{first, second, 0},
                                              [](const Composition& a, const Composition& b) {
                                                return a.first != b.first ? a.first < b.first : a.second < b.second;
                                              });
  return found != end && found->first == first && found->second == second ? found->composed : 0;
}

/// Says whether `code_point` can be the second of a composition.
bool composes_backwards(char32_t code_point) {
  static const std::vector<char32_t> seconds = [] {
    std::vector<char32_t> all;
    for (std::size_t i = 0; i < kCompositionCount; ++i) all.push_back(kCompositions[i].second);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }();
  return in(code_point, kVowels, kVowelCount) || in(code_point, kTrailing + 1, kTrailingCount - 1) ||
         std::binary_search(seconds.begin(), seconds.end(), code_point);
}

/// Says whether `code_point` could change, or change what stands before it.
bool is_unsettled(char32_t code_point) {
  if (code_point < kFirstUnsettled || in(code_point, kSyllables, kSyllableCount)) return false;
  return combining_class(code_point) != 0 || mapping_of(code_point) != nullptr || composes_backwards(code_point);
}

void decompose(char32_t code_point, std::vector<char32_t>& out) {
  if (in(code_point, kSyllables, kSyllableCount)) {
    const char32_t index = code_point - kSyllables;
    out.push_back(kLeading + index / (kVowelCount * kTrailingCount));
    out.push_back(kVowels + index / kTrailingCount % kVowelCount);
    if (index % kTrailingCount != 0) out.push_back(kTrailing + index % kTrailingCount);
    return;
  }
  const CanonicalMapping* mapping = mapping_of(code_point);
  if (mapping == nullptr) {
    out.push_back(code_point);
    return;
  }
  decompose(mapping->first, out);
  if (mapping->second != 0) decompose(mapping->second, out);
}

/// Sorts each run of marks by combining class, then composes each with the last starter unless a mark between blocks it.
void order_and_compose(std::vector<char32_t>& text) {
  std::vector<std::uint8_t> classes;
  for (const char32_t code_point : text) classes.push_back(combining_class(code_point));
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && classes[end] != 0) ++end;
    if (end - begin > 1) {
      std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end),
                       [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
      for (std::size_t i = begin; i < end; ++i) classes[i] = combining_class(text[i]);
    }
    begin = end + 1;
  }
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone;
  std::size_t kept = 0;
  int blocking = -1;  // class of the last character kept behind the starter; -1: none
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int own = classes[i];
    if (starter != kNone && blocking < own) {
      if (const char32_t composed = compose(text[starter], text[i]); composed != 0) {
        text[starter] = composed;
        continue;
      }
    }
    if (own == 0) {
      starter = kept;
      blocking = -1;
    } else {
      blocking = own;
    }
    text[kept++] = text[i];
  }
  text.resize(kept);
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  std::string result;
  std::vector<char32_t> stretch;
  std::size_t copied = 0;    // text before it is in the result
  std::size_t previous = 0;  // where the character before `position` starts, when `has_previous`
  bool has_previous = false;
  for (std::size_t position = 0; position < text.size();) {
    const Utf8Step step = read_utf8(text, position);
    if (!step.valid || !is_unsettled(step.code_point)) {
      has_previous = step.valid;
      previous = position;
      position += step.length;
      continue;
    }
    const std::size_t begin = has_previous ? previous : position;
    stretch.clear();
    if (has_previous) decompose(read_utf8(text, previous).code_point, stretch);
    while (position < text.size()) {
      const Utf8Step next = read_utf8(text, position);
      if (!next.valid || !is_unsettled(next.code_point)) break;
      decompose(next.code_point, stretch);
      position += next.length;
    }
    has_previous = false;
    order_and_compose(stretch);
    result += text.substr(copied, begin - copied);
    for (const char32_t code_point : stretch) append_utf8(result, code_point);
    copied = position;
  }
  if (copied == 0) return text;
  result += text.substr(copied);
  storage = std::move(result);
  return storage;
}

}  // namespace reprise
