#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/tokenizer/unicode_classes.cpp from Python's own Unicode tables: tools/generate_unicode_classes.py > FILE."""
import unicodedata


def ranges(major_class):
    found, start = [], None
    for code_point in range(0x110001):
        inside = code_point < 0x110000 and unicodedata.category(chr(code_point))[0] == major_class
        if inside and start is None:
            start = code_point
        if not inside and start is not None:
            found.append((start, code_point - 1))
            start = None
    return found


def table(name, found):
    lines, line = [], " "
    for first, last in found:
        entry = f" {{0x{first:X}, 0x{last:X}}},"
        if len(line) + len(entry) > 120:
            lines.append(line)
            line = " "
        line += entry
    lines.append(line)
    return f"constexpr Range {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


print(f"""// SPDX-License-Identifier: Apache-2.0
// Made by tools/generate_unicode_classes.py from Unicode {unicodedata.unidata_version}; not edited by hand.
#include "tokenizer/unicode_classes.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace reprise {{

namespace {{

struct Range {{
  std::uint32_t first;
  std::uint32_t last;
}};

// General categories Lu, Ll, Lt, Lm, Lo.
{table("kLetters", ranges("L"))}
// General categories Nd, Nl, No.
{table("kNumbers", ranges("N"))}
template <std::size_t n>
bool contains(const Range (&ranges)[n], char32_t code_point) {{
  const Range* after = std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                                        [](char32_t value, const Range& range) {{ return value < range.first; }});
  return after != std::begin(ranges) && code_point <= std::prev(after)->last;
}}

}}  // namespace

bool is_unicode_letter(char32_t code_point) {{ return contains(kLetters, code_point); }}

bool is_unicode_number(char32_t code_point) {{ return contains(kNumbers, code_point); }}

bool is_unicode_space(char32_t code_point) {{
  if (code_point <= 0x20) return code_point == 0x20 || (code_point >= 0x9 && code_point <= 0xD);
  if (code_point >= 0x2000 && code_point <= 0x200A) return true;
  for (const char32_t space : {{0x85u, 0xA0u, 0x1680u, 0x2028u, 0x2029u, 0x202Fu, 0x205Fu, 0x3000u}}) {{
    if (code_point == space) return true;
  }}
  return false;
}}

}}  // namespace reprise""")
