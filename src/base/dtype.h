// SPDX-License-Identifier: Apache-2.0
// Element types, their sizes and names, and the conversions between float and the 16-bit formats.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/inline.h"

namespace reprise {

/// `float16` is read from and written to files; nothing computes in it.
enum class DType : std::uint8_t { float32, float64, bfloat16, float16, int32, int64, boolean };

/// Bytes of one element.
constexpr std::size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::int32: return 4;
    case DType::float64:
    case DType::int64: return 8;
    case DType::bfloat16:
    case DType::float16: return 2;
    case DType::boolean: return 1;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16 || dtype == DType::float16;
}

/// Returns the name used in traces, options and files: "float32", "bool", ...
std::string_view dtype_name(DType dtype);
/// Returns the dtype called `name`, or nothing.
std::optional<DType> parse_dtype(std::string_view name);

/// A bfloat16 as stored: the upper half of a float32.
struct bfloat16 {
  std::uint16_t bits = 0;
};

/// An IEEE binary16 as stored.
struct float16 {
  std::uint16_t bits = 0;
};

REPRISE_INLINE float to_float(bfloat16 x) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16); }

/// Rounds to nearest even. NaN stays NaN (quiet, sign and upper payload kept).
REPRISE_INLINE bfloat16 to_bfloat16(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return {static_cast<std::uint16_t>(nan ? quiet : rounded)};
}

float to_float(float16 x);
/// Rounds to nearest even, with gradual underflow; overflow gives infinity.
float16 to_float16(float x);

}  // namespace reprise
