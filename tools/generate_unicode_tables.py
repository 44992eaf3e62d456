#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/tokenizer/unicode_categories.cpp and src/tokenizer/unicode_compositions.cpp from Python's own Unicode tables:
tools/generate_unicode_tables.py"""
import pathlib
import unicodedata

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "src" / "tokenizer"
CODE_POINTS = range(0x110000)
HANGUL_SYLLABLES = range(0xAC00, 0xAC00 + 11172)  # composed by formula


def array(declaration, entries):
    lines, line = [], " "
    for entry in entries:
        if len(line) + len(entry) + 2 > 128:
            lines.append(line)
            line = " "
        line += " " + entry + ","
    lines.append(line)
    return declaration + " = {\n" + "\n".join(lines) + "\n};\n"


def header(name, says):
    return f"""// SPDX-License-Identifier: Apache-2.0
// Made by tools/generate_unicode_tables.py from Unicode {unicodedata.unidata_version}; not edited by hand.
// {says}
#include "tokenizer/{name}.h"

namespace reprise {{

"""


def category_starts():
    before = None
    for code_point in CODE_POINTS:
        category = unicodedata.category(chr(code_point))
        if category != before:
            yield f"{{0x{code_point:X}, {category}}}"
        before = category


def combining_starts():
    before = 0
    for code_point in CODE_POINTS:
        combining_class = unicodedata.combining(chr(code_point))
        if combining_class != before:
            yield f"{{0x{code_point:X}, {combining_class}}}"
        before = combining_class


def canonical_pairs():
    """(code point, first, second or 0) of every canonical mapping but those of Hangul syllables."""
    for code_point in CODE_POINTS:
        mapping = unicodedata.decomposition(chr(code_point))
        if mapping and not mapping.startswith("<") and code_point not in HANGUL_SYLLABLES:
            parts = [int(part, 16) for part in mapping.split()]
            yield code_point, parts[0], parts[1] if len(parts) == 2 else 0


def compositions():
    """(first, second, composed), without the excluded ones: those that normalization does not compose."""
    for code_point, first, second in canonical_pairs():
        if second and unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(code_point):
            yield first, second, code_point


def main():
    text = header("unicode_classes", "A category holds from its code point to the next entry's.")
    text += "using enum GeneralCategory;\n\n"
    text += array("const CategoryStart kCategoryStarts[]", category_starts())
    text += "const std::size_t kCategoryStartCount = sizeof(kCategoryStarts) / sizeof(kCategoryStarts[0]);\n\n}  // namespace reprise\n"
    (FOLDER / "unicode_categories.cpp").write_text(text)

    text = header("unicode_compositions", "Canonical mappings, one level deep, by code point; compositions by their two parts; combining classes by ranges.")
    text += array("const CanonicalMapping kCanonicalMappings[]", (f"{{0x{c:X}, 0x{a:X}, 0x{b:X}}}" for c, a, b in canonical_pairs()))
    text += "const std::size_t kCanonicalMappingCount = sizeof(kCanonicalMappings) / sizeof(kCanonicalMappings[0]);\n\n"
    text += array("const Composition kCompositions[]", (f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}" for a, b, c in sorted(compositions())))
    text += "const std::size_t kCompositionCount = sizeof(kCompositions) / sizeof(kCompositions[0]);\n\n"
    text += array("const CombiningClassStart kCombiningClassStarts[]", combining_starts())
    text += "const std::size_t kCombiningClassStartCount = sizeof(kCombiningClassStarts) / sizeof(kCombiningClassStarts[0]);\n\n}  // namespace reprise\n"
    (FOLDER / "unicode_compositions.cpp").write_text(text)


main()
