// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace reprise {
namespace {

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

bool same(char a, char b) { return folded(a) == folded(b); }

bool is_start(std::string_view word, std::string_view name) {
  return word.size() >= 3 && word.size() <= name.size() && std::equal(word.begin(), word.end(), name.begin(), same);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the distance table for the last two letters of `a` and the present one.
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, previous);
    std::swap(previous, current);
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = previous[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
  }
  return current[b.size()];
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view name : candidates) {
    const std::size_t distance = edit_distance(word, name);
    const bool near = distance * 3 <= std::max(word.size(), name.size()) || is_start(word, name);
    if (near && (best.empty() || distance < best_distance)) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view name = nearest_name(word, candidates);
  if (name.empty()) return {};
  return "; did you mean \"" + std::string(name) + "\"?";
}

std::string names_hint(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kShown = 6;
  if (candidates.empty()) return {};
  if (std::string near = nearest_hint(word, candidates); !near.empty()) return near;
  std::string text = "; there are ";
  const std::size_t shown = std::min(kShown, candidates.size());
  for (std::size_t i = 0; i < shown; ++i) text += std::string(i > 0 ? ", " : "") + std::string(candidates[i]);
  if (shown < candidates.size()) text += " and " + std::to_string(candidates.size() - shown) + " more";
  return text;
}

}  // namespace reprise
