// SPDX-License-Identifier: Apache-2.0
// Canonical composition: normalization form C, as the NFC normalizer of tokenizer.json asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

struct CanonicalMapping {
  char32_t composed;
  char32_t first;
  char32_t second;  // 0: none
};
struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};
struct CombiningClassStart {
  char32_t first;
  std::uint8_t combining_class;
};

// unicode_compositions.cpp: each ascending. Hangul syllables are by formula, not here.
extern const CanonicalMapping kCanonicalMappings[];
extern const std::size_t kCanonicalMappingCount;
extern const Composition kCompositions[];
extern const std::size_t kCompositionCount;
extern const CombiningClassStart kCombiningClassStarts[];  // the class holds up to the next entry; 0 before the first
extern const std::size_t kCombiningClassStartCount;

/// Returns `text` in normalization form C (UAX 15; Hangul: Unicode 15, section 3.12). Bytes that are not UTF-8 stay, and nothing
/// composes across them. When `text` is in the form already the result is `text` itself and `storage` is not touched; else it
/// is a view of `storage`.
std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace reprise
