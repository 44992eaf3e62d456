// SPDX-License-Identifier: Apache-2.0
// The one place where checks of numbers take their tolerances from: a function of the dtype and of how many terms were added up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/dtype.h"

namespace reprise::test {

/// Half the distance from 1 to the next number; 0 for types that are exact.
inline double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float64: return 0x1p-53;
    case DType::float32: return 0x1p-24;
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    default: return 0;
  }
}

/// What two implementations of one formula may differ by, relative to max(1, |expected|), when each sums `length`
/// terms of that size: a few dozen roundings, and the growth of a sum in an unspecified order.
inline double tolerance(DType dtype, std::int64_t length = 1) {
  return unit_roundoff(dtype) * (64 + 4 * static_cast<double>(length));
}

/// Step of central differences in float64, and what they may differ from a derivative by, relative as above: the
/// truncation error is about the step squared, the rounding error roundoff / step, both times the function's size.
inline constexpr double kDifferenceStep = 1e-5;
inline double difference_tolerance(std::int64_t length = 1) { return 1e-7 * (1 + 0.1 * static_cast<double>(length)); }

/// Step of five-point differences in float64, whose truncation error is about the fourth power of the step: they stay within
/// difference_tolerance for functions far steeper than central differences allow.
inline constexpr double kFivePointStep = 1e-4;

/// Whether `actual` is `expected` within `bound` * max(1, |expected|). NaN equals NaN, an infinity only itself.
inline bool near(double actual, double expected, double bound) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  return std::abs(actual - expected) <= bound * std::max(1.0, std::abs(expected));
}

}  // namespace reprise::test
