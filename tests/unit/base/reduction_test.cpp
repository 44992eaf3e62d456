// SPDX-License-Identifier: Apache-2.0
// The orders spelled out once more with plain index arithmetic, and sums against long double.
#include "base/reduction.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "support/tolerance.h"

namespace reprise::reduction {
namespace {

std::vector<float> numbers(std::size_t n, std::uint32_t seed = 1) {
  std::vector<float> result(n);
  std::uint32_t state = seed;
  for (float& x : result) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-28f;
  }
  return result;
}

float literal_block(const float* x, std::size_t n) {
  float lane[4][16] = {};
  for (std::size_t i = 0; i < n; ++i) lane[(i / 16) % 4][i % 16] += x[i];
  float v[16];
  for (int l = 0; l < 16; ++l) v[l] = (lane[0][l] + lane[1][l]) + (lane[2][l] + lane[3][l]);
  for (int half = 8; half >= 1; half /= 2) {
    for (int l = 0; l < half; ++l) v[l] = v[l] + v[l + half];
  }
  return v[0];
}

TEST(Reduction, RowOrderIsTheDescribedOne) {
  for (const std::size_t n : {0u, 1u, 15u, 63u, 64u, 65u, 777u, 4095u, 4096u, 4097u, 9000u}) {
    const std::vector<float> x = numbers(n);
    float expected = 0.0f;
    for (std::size_t begin = 0; begin < n; begin += 4096) expected += literal_block(&x[begin], std::min<std::size_t>(4096, n - begin));
    const float result = sum_row<float>(n, [&](std::size_t i) { return x[i]; });
    EXPECT_EQ(std::bit_cast<std::uint32_t>(result), std::bit_cast<std::uint32_t>(expected)) << n;
  }
}

TEST(Reduction, FullOrderIsTheDescribedOne) {
  for (const std::size_t n : {0u, 1u, 4096u, 4097u, 100000u}) {
    const std::vector<float> x = numbers(n);
    std::vector<float> leaves;
    for (std::size_t begin = 0; begin < n || begin == 0; begin += 4096) {
      leaves.push_back(literal_block(x.data() + begin, std::min<std::size_t>(4096, n - begin)));
    }
    const float expected = leaves.size() == 1 ? leaves[0] : literal_block(leaves.data(), leaves.size());
    EXPECT_EQ((reduce_all<Add<float>, float>(n, [&](std::size_t i) { return x[i]; })), expected) << n;
    EXPECT_EQ((reduce_leaves<Add<float>>(leaves.data(), leaves.size())), expected) << n;
  }
}

TEST(Reduction, LeavesOneByOneEqualLeavesAtOnce) {
  for (const std::size_t count : {1u, 2u, 64u, 4095u, 4096u, 4097u, 8192u, 8193u, 3u * 4096u + 5u, 4096u * 4096u + 4097u}) {
    std::vector<float> leaves = numbers(count, 7);
    LeafAccumulator<Add<float>, float> accumulator;
    for (const float leaf : leaves) accumulator.push(leaf);
    EXPECT_EQ((reduce_leaves<Add<float>>(leaves.data(), count)), accumulator.finish()) << count;
  }
}

TEST(Reduction, RowsOrderIsTheDescribedOne) {
  for (const std::size_t n : {0u, 1u, 512u, 513u, 2000u}) {
    const std::vector<float> x = numbers(n);
    float expected = 0.0f;
    for (std::size_t begin = 0; begin < n; begin += 512) {
      float chain = 0.0f;
      for (std::size_t i = begin; i < std::min<std::size_t>(n, begin + 512); ++i) chain += x[i];
      expected += chain;
    }
    EXPECT_EQ((reduce_rows<Add<float>, float>(n, [&](std::size_t i) { return x[i]; })), expected) << n;
  }
}

TEST(Reduction, ProductOrderIsTheDescribedOne) {
  const std::size_t k = 1300;
  const std::vector<float> a = numbers(k, 3);
  const std::vector<float> b = numbers(k, 4);
  float blocks[3] = {};
  for (std::size_t i = 0; i < k; ++i) blocks[i / 512] = std::fma(a[i], b[i], blocks[i / 512]);
  const auto load_a = [&](std::size_t i) { return a[i]; };
  const auto load_b = [&](std::size_t i) { return b[i]; };
  EXPECT_EQ(product_element<float>(k, load_a, load_b), (blocks[0] + blocks[1]) + blocks[2]);
  EXPECT_EQ(product_element_onto(2.5f, k, load_a, load_b), ((2.5f + blocks[0]) + blocks[1]) + blocks[2]);
  float swapped = 0.0f;
  for (const std::size_t i : {1u, 0u, 3u, 2u, 4u}) swapped = std::fma(a[i], b[i], swapped);
  EXPECT_EQ(product_element_bfloat16(5, load_a, load_b), swapped);
}

TEST(Reduction, SumsAreAccurate) {
  const std::size_t n = 70000;
  const std::vector<float> x = numbers(n);
  long double exact = 0.0L;
  long double size = 0.0L;
  for (const float value : x) exact += value, size += std::abs(value);
  const auto load = [&](std::size_t i) { return x[i]; };
  const auto tolerance = static_cast<double>(size) * test::tolerance(DType::float32, 9);  // 64 slots: chains of 64, trees of 6, 18 blocks
  EXPECT_NEAR(sum_row<float>(n, load), static_cast<double>(exact), tolerance);
  EXPECT_NEAR((reduce_all<Add<float>, float>(n, load)), static_cast<double>(exact), tolerance);
}

TEST(Reduction, LogSumExpOverSeveralBlocks) {
  const std::size_t n = 10000;
  std::vector<float> x = numbers(n);
  for (std::size_t i = 0; i < 4096; ++i) x[i] = -INFINITY;  // a whole block that adds nothing
  x[9999] = 50.0f;
  long double exact = 0.0L;
  for (const float value : x) exact += std::exp(static_cast<long double>(value) - 50.0L);
  const MaxSum<float> row = max_sum_row<float>(n, [&](std::size_t i) { return x[i]; });
  EXPECT_EQ(row.max, 50.0f);
  EXPECT_NEAR(log_sum_exp(row), static_cast<double>(50.0L + std::log(exact)), 50 * test::tolerance(DType::float32));
  EXPECT_EQ((log_sum_exp(max_sum_row<float>(4096, [&](std::size_t i) { return x[i]; }))), -INFINITY);
}

TEST(Reduction, MaximumKeepsNan) {
  std::vector<float> x = numbers(5000);
  const auto load = [&](std::size_t i) { return x[i]; };
  x[4321] = NAN;
  EXPECT_TRUE(std::isnan((reduce_row<Max<float>, float>(5000, load))));
  EXPECT_TRUE(std::isnan((reduce_row<Min<float>, float>(5000, load))));
}

TEST(Reduction, RuleDependsOnDimensionsOnly) {
  EXPECT_EQ(reduction_rule(3, 0b111), Rule::full);
  EXPECT_EQ(reduction_rule(3, 0b100), Rule::row);
  EXPECT_EQ(reduction_rule(3, 0b101), Rule::row);
  EXPECT_EQ(reduction_rule(3, 0b011), Rule::rows);
  EXPECT_EQ(reduction_rule(0, 0), Rule::full);
}

}  // namespace
}  // namespace reprise::reduction
