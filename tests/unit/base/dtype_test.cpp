// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace reprise {
namespace {

TEST(DType, NamesRoundTrip) {
  for (const char* name : {"float32", "float64", "bfloat16", "float16", "int32", "int64", "bool"}) {
    ASSERT_TRUE(parse_dtype(name).has_value()) << name;
    EXPECT_EQ(dtype_name(*parse_dtype(name)), name);
  }
  EXPECT_FALSE(parse_dtype("float").has_value());
}

TEST(DType, Float16RoundTripsEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float16 half{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_float16(wide))));
    } else {
      EXPECT_EQ(to_float16(wide).bits, half.bits) << bits;
    }
  }
}

TEST(DType, Float16RoundsToNearestEven) {
  EXPECT_EQ(to_float16(65519.996f).bits, 0x7BFF);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(to_float16(1.0f + 0x1p-11f).bits, 0x3C00);          // tie, even below
  EXPECT_EQ(to_float16(1.0f + 3 * 0x1p-11f).bits, 0x3C02);      // tie, even above
  EXPECT_EQ(to_float16(0x1p-25f).bits, 0x0000);                 // tie at half the smallest denormal
  EXPECT_EQ(to_float16(std::nextafter(0x1p-25f, 1.0f)).bits, 0x0001);
}

TEST(DType, Bfloat16RoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(to_bfloat16(1.0f).bits, 0x3F80);
  EXPECT_EQ(to_bfloat16(1.0f + 0x1p-8f).bits, 0x3F80);
  EXPECT_EQ(to_bfloat16(1.0f + 3 * 0x1p-8f).bits, 0x3F82);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::signaling_NaN()))));
}

}  // namespace
}  // namespace reprise
