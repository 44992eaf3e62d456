// SPDX-License-Identifier: Apache-2.0
// Shapes refuse what no memory can hold before a size can overflow.
#include "ir/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/expect_error.h"

namespace reprise {
namespace {

TEST(ShapeSize, OverflowIsRefused) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const char* const phrase = "the tensor is too large for any memory; give smaller sizes";
  EXPECT_EQ(Shape({1 << 20, 1 << 20}).numel(), std::int64_t{1} << 40);
  const std::vector<std::int64_t> big{1 << 22, 1 << 22};
  const std::vector<std::int64_t> many{kHuge, kHuge, kHuge};
  const std::vector<std::int64_t> empty{0, kHuge, 4};
  EXPECT_USER_ERROR(Shape{big}, phrase);
  EXPECT_USER_ERROR(Shape{many}, phrase);
  EXPECT_USER_ERROR(Shape{empty}, phrase);
  Shape shape{1 << 20, 2};
  EXPECT_USER_ERROR(shape.set_dim(1, Dim({1 << 30, {}})), phrase);
  EXPECT_USER_ERROR(shape.set_dim(1, Dim({-1, {}})), "an extent cannot be negative: -1");
}

}  // namespace
}  // namespace reprise
