// SPDX-License-Identifier: Apache-2.0
// The three Unicode classes that the pre-tokenizers' patterns name: \p{L}, \p{N} and \s.
#pragma once

namespace reprise {

/// Says whether `code_point` is in \p{L}.
bool is_unicode_letter(char32_t code_point);
/// Says whether `code_point` is in \p{N}: decimal digits, letter numbers and other numbers.
bool is_unicode_number(char32_t code_point);
/// Says whether `code_point` has the property White_Space (\s).
bool is_unicode_space(char32_t code_point);

}  // namespace reprise
