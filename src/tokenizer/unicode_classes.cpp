// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode_classes.h"

#include <algorithm>
#include <iterator>

namespace reprise {

GeneralCategory general_category(char32_t code_point) {
  const CategoryStart* end = kCategoryStarts + kCategoryStartCount;
  return std::prev(std::upper_bound(kCategoryStarts, end, code_point,
                                    [](char32_t value, const CategoryStart& start) { return value < start.first; }))
      ->category;
}

bool is_unicode_letter(char32_t code_point) { return general_category(code_point) <= GeneralCategory::Lo; }

bool is_unicode_number(char32_t code_point) {
  const GeneralCategory category = general_category(code_point);
  return category >= GeneralCategory::Nd && category <= GeneralCategory::No;
}

bool is_unicode_punctuation(char32_t code_point) {
  const GeneralCategory category = general_category(code_point);
  return category >= GeneralCategory::Pc && category <= GeneralCategory::Po;
}

bool is_unicode_space(char32_t code_point) {
  if (code_point <= 0x20) return code_point == 0x20 || (code_point >= 0x9 && code_point <= 0xD);
  if (code_point >= 0x2000 && code_point <= 0x200A) return true;
  for (const char32_t space : {0x85u, 0xA0u, 0x1680u, 0x2028u, 0x2029u, 0x202Fu, 0x205Fu, 0x3000u}) {
    if (code_point == space) return true;
  }
  return false;
}

bool is_unicode_word(char32_t code_point) {
  const GeneralCategory category = general_category(code_point);
  if (category <= GeneralCategory::Nl || category == GeneralCategory::Pc) return true;
  // Join_Control, and what Other_Alphabetic adds beyond marks: circled and squared letters.
  return code_point == 0x200C || code_point == 0x200D || (code_point >= 0x24B6 && code_point <= 0x24E9) ||
         (code_point >= 0x1F130 && code_point <= 0x1F149) || (code_point >= 0x1F150 && code_point <= 0x1F169) ||
         (code_point >= 0x1F170 && code_point <= 0x1F189);
}

}  // namespace reprise
