// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?": the known name closest to a mistyped one, for every error about an unknown name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace reprise {

/// Number of single-character insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment). Letter case, and `-` against `_`, cost nothing.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate nearest to `word`, the first among equals; empty when none is near enough to be meant: more than
/// a third of the letters wrong and `word` not the start of it.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// Returns `; did you mean "NAME"?` for the nearest candidate, or nothing.
std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates);

/// nearest_hint, or, when no candidate is near, `; there are A, B, C and 9 more`: the first few, for names that a user cannot know.
std::string names_hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace reprise
