// SPDX-License-Identifier: Apache-2.0
// The Unicode classes that pre-tokenizers and added tokens ask for. The table is unicode_categories.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reprise {

/// The general categories of Unicode (UAX 44, table 12), under their short names.
enum class GeneralCategory : std::uint8_t {
  Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe, Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl, Zp, Cc, Cf, Cs, Co, Cn
};

struct CategoryStart {
  char32_t first;
  GeneralCategory category;
};
extern const CategoryStart kCategoryStarts[];  // ascending, from U+0000
extern const std::size_t kCategoryStartCount;

/// Returns the general category of `code_point` (at most U+10FFFF).
GeneralCategory general_category(char32_t code_point);
/// Says whether `code_point` is in \p{L}.
bool is_unicode_letter(char32_t code_point);
/// Says whether `code_point` is in \p{N}: decimal digits, letter numbers and other numbers.
bool is_unicode_number(char32_t code_point);
/// Says whether `code_point` is in \p{P}.
bool is_unicode_punctuation(char32_t code_point);
/// Says whether `code_point` has the property White_Space (\s).
bool is_unicode_space(char32_t code_point);
/// Says whether `code_point` is in \w: Alphabetic, \p{M}, \p{Nd}, \p{Pc} or Join_Control (UTS 18, annex C).
bool is_unicode_word(char32_t code_point);

}  // namespace reprise
