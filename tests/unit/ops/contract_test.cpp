// SPDX-License-Identifier: Apache-2.0
// The numeric contract in float32 and bfloat16, bit for bit, against loops written out here: orders of sums, where
// rounding happens, and what is selected instead of multiplied.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/philox.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"

namespace reprise {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::size_t n, std::uint64_t seed) {
  Floats result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = 4 * uniform_float(philox_word(seed, i)) - 2;
  return result;
}

struct Program {
  Trace trace;
  Builder b{trace};
  std::vector<HostTensor> values;

  ValueId input(HostTensor value) {
    values.push_back(std::move(value));
    return trace.add_input(values.back().type(), Role::batch, "x");
  }
  ValueId floats(const Shape& shape, const Floats& numbers) { return input(HostTensor::of<float>(shape, numbers)); }
  std::vector<HostTensor> run(std::vector<ValueId> outputs) {
    trace.outputs = std::move(outputs);
    return interpret(trace, values);
  }
};

Floats result_of(const HostTensor& tensor) { return {tensor.as<float>().begin(), tensor.as<float>().end()}; }

/// Chains of fma over blocks of 512 k, block sums added.
float product(const Floats& a, const Floats& b, std::size_t k, float onto, bool accumulate) {
  float sum = onto;
  for (std::size_t begin = 0; begin < k; begin += 512) {
    float chain = 0;
    for (std::size_t i = begin; i < std::min(k, begin + 512); ++i) chain = std::fma(a[i], b[i], chain);
    sum = begin == 0 && !accumulate ? chain : sum + chain;
  }
  return sum;
}

TEST(NumericContract, ProductsChainOverBlocksOf512) {
  for (const std::size_t k : {1u, 511u, 512u, 513u, 1300u}) {
    Program p;
    const Floats a = random_floats(k, 1);
    const Floats b = random_floats(k, 2);
    const auto length = static_cast<std::int64_t>(k);
    const ValueId x = p.floats(Shape{1, length}, a);
    const ValueId y = p.floats(Shape{length, 1}, b);
    const ValueId c = p.floats(Shape{1, 1}, {0.75f});
    const ValueId bias = p.floats(Shape{1}, {0.3f});
    const ValueId w = p.floats(Shape{1, length}, b);
    const auto results = p.run({ops::matmul(p.b, x, y), ops::matmul_accumulate(p.b, c, x, y), ops::linear(p.b, x, w, bias)});
    EXPECT_EQ(result_of(results[0])[0], product(a, b, k, 0, false)) << k;
    EXPECT_EQ(result_of(results[1])[0], product(a, b, k, 0.75f, true)) << k;
    EXPECT_EQ(result_of(results[2])[0], product(a, b, k, 0, false) + 0.3f) << k;
  }
}

TEST(NumericContract, TransposedProductsHaveTheBitsOfPlainOnes) {
  Program p;
  const Floats a = random_floats(6 * 700, 3);
  const Floats b = random_floats(700 * 5, 4);
  const ValueId x = p.floats(Shape{6, 700}, a);
  const ValueId y = p.floats(Shape{700, 5}, b);
  const ValueId turned_x = ops::copy(p.b, ops::transpose(p.b, x, 0, 1));
  const ValueId turned_y = ops::copy(p.b, ops::transpose(p.b, y, 0, 1));
  const auto results = p.run({ops::matmul(p.b, x, y), ops::matmul(p.b, turned_x, y, true), ops::matmul(p.b, x, turned_y, false, true),
                              ops::matmul(p.b, turned_x, turned_y, true, true)});
  for (std::size_t i = 1; i < results.size(); ++i) EXPECT_EQ(results[i], results[0]) << i;
}

TEST(NumericContract, BfloatProductsTakePairsSwapped) {
  // 1 vanishes beside 2^30 but not before it: only the order 1, 0, 3, 2 keeps both ones
  const Floats a = {0x1p30f, 1, -0x1p30f, 1};
  Program p;
  const auto as_bfloat = [](const Shape& shape, const Floats& numbers) {
    const std::vector<double> wide(numbers.begin(), numbers.end());
    return HostTensor::from_numbers(TensorType{DType::bfloat16, shape, Device::cpu}, wide);
  };
  const ValueId x = p.input(as_bfloat(Shape{1, 4}, a));
  const ValueId y = p.input(as_bfloat(Shape{4, 1}, {1, 1, 1, 1}));
  float expected = 0;
  for (const std::size_t i : {1, 0, 3, 2}) expected = std::fma(a[i], 1.0f, expected);
  float ascending = 0;
  for (const std::size_t i : {0, 1, 2, 3}) ascending = std::fma(a[i], 1.0f, ascending);
  ASSERT_NE(expected, ascending);
  // a denormal factor counts as 0, whatever it is multiplied by
  const ValueId tiny = p.input(as_bfloat(Shape{1, 1}, {0x1p-130f}));
  const ValueId huge = p.input(as_bfloat(Shape{1, 1}, {0x1p100f}));
  const auto results = p.run({ops::matmul(p.b, x, y), ops::matmul(p.b, tiny, huge)});
  EXPECT_EQ(results[0].number(), expected);
  EXPECT_EQ(results[1].number(), 0);
}

TEST(NumericContract, BfloatLinearRoundsOnce) {
  // 256 + 1 is no bfloat16 number: rounded before the bias of 1 it would stay 256
  Program p;
  const auto bfloat = [&](const Shape& shape, std::vector<double> numbers) {
    return p.input(HostTensor::from_numbers(TensorType{DType::bfloat16, shape, Device::cpu}, numbers));
  };
  const ValueId x = bfloat(Shape{1, 2}, {256, 1});
  const ValueId w = bfloat(Shape{1, 2}, {1, 1});
  const ValueId bias = bfloat(Shape{1}, {1});
  EXPECT_EQ(p.run({ops::linear(p.b, x, w, bias)})[0].number(), 258);
}

/// A chain over each block of 512 rows, block sums added.
template <class Load>
float sum_rows(std::size_t rows, Load&& load) {
  float sum = 0;
  for (std::size_t begin = 0; begin < rows; begin += 512) {
    float chain = 0;
    for (std::size_t r = begin; r < std::min(rows, begin + 512); ++r) chain += load(r);
    sum = begin == 0 ? chain : sum + chain;
  }
  return sum;
}

TEST(NumericContract, NormGradientsOfWeightAndBiasSumBlocksOf512Rows) {
  const std::size_t rows = 1100;
  const std::size_t width = 3;
  const Floats x = random_floats(rows * width, 5);
  const Floats gy = random_floats(rows * width, 6);
  const Floats mean = random_floats(rows, 7);
  const Floats rstd = random_floats(rows, 8);
  Program p;
  const Shape shape{static_cast<std::int64_t>(rows), 3};
  const Shape column{static_cast<std::int64_t>(rows)};
  NormAttrs attrs;
  attrs.has_weight = true;
  attrs.has_bias = true;
  const ValueId in = p.floats(shape, x);
  const ValueId in_mean = p.floats(column, mean);
  const ValueId in_rstd = p.floats(column, rstd);
  const ValueId in_gy = p.floats(shape, gy);
  const ValueId weight = p.floats(Shape{3}, {1, 2, 3});
  const auto results = p.run(ops::layer_norm_backward(p.b, in, in_mean, in_rstd, in_gy, weight, attrs));
  for (std::size_t j = 0; j < width; ++j) {
    const float g_weight = sum_rows(rows, [&](std::size_t r) { return gy[r * width + j] * ((x[r * width + j] - mean[r]) * rstd[r]); });
    const float g_bias = sum_rows(rows, [&](std::size_t r) { return gy[r * width + j]; });
    EXPECT_EQ(result_of(results[1])[j], g_weight) << j;
    EXPECT_EQ(result_of(results[2])[j], g_bias) << j;
  }
}

TEST(NumericContract, EmbeddingGradientAddsTokensAscending) {
  // ascending: (1 + 2^24) - 2^24 is 0; any other order keeps the 1
  Program p;
  const ValueId gy = p.floats(Shape{3, 1}, {1, 0x1p24f, -0x1p24f});
  const ValueId index = p.input(HostTensor::of<std::int64_t>(Shape{3}, {1, 1, 1}));
  EXPECT_EQ(result_of(p.run({ops::embedding_backward(p.b, gy, index, 2)})[0]), (Floats{0, 0}));
}

TEST(NumericContract, MaskedKeysAreSelectedNotMultiplied) {
  // NaN and infinity in keys and values that no query sees leave no trace
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto run = [](const Floats& k, const Floats& v) {
    Program p;
    ops::AttentionInputs inputs;
    inputs.q = p.floats(Shape{1, 1, 2, 1}, {0.5f, 1});
    inputs.k = p.floats(Shape{1, 1, 3, 1}, k);
    inputs.v = p.floats(Shape{1, 1, 3, 1}, v);
    AttentionAttrs attrs;
    attrs.causal = true;
    const auto forward = ops::attention(p.b, inputs, attrs);
    const ValueId gout = p.floats(Shape{1, 2, 1, 1}, {1, -2});
    const auto backward = ops::attention_backward(p.b, inputs, forward.out, forward.lse, gout, attrs);
    return p.run({forward.out, forward.lse, backward[0], backward[1], backward[2]});
  };
  EXPECT_EQ(run({1, 2, nan}, {3, 4, infinity}), run({1, 2, 0}, {3, 4, 0}));
}

TEST(NumericContract, AttentionTakesKeysInBlocksOf128) {
  // 300 keys, width 1: the running maximum and sum written out
  const std::size_t keys = 300;
  const Floats k = random_floats(keys, 9);
  const Floats v = random_floats(keys, 10);
  const float q = 1.5f;
  Program p;
  ops::AttentionInputs inputs;
  const Shape shape{1, 1, static_cast<std::int64_t>(keys), 1};
  inputs.q = p.floats(Shape{1, 1, 1, 1}, {q});
  inputs.k = p.floats(shape, k);
  inputs.v = p.floats(shape, v);
  const float out = result_of(p.run({ops::attention(p.b, inputs, AttentionAttrs{}).out})[0])[0];

  // exp through the op itself, so that this test is about order alone
  const auto exp_of = [](const Floats& x) {
    Program one;
    const ValueId in = one.floats(Shape{static_cast<std::int64_t>(x.size())}, x);
    return result_of(one.run({ops::exp(one.b, in)})[0]);
  };
  float maximum = -std::numeric_limits<float>::infinity();
  float total = 0;
  float weighted = 0;
  for (std::size_t begin = 0; begin < keys; begin += 128) {
    const std::size_t n = std::min<std::size_t>(128, keys - begin);
    float larger = maximum;
    for (std::size_t j = 0; j < n; ++j) larger = std::max(larger, q * k[begin + j]);
    Floats shifted(n);
    for (std::size_t j = 0; j < n; ++j) shifted[j] = q * k[begin + j] - larger;
    const Floats e = exp_of(shifted);
    const float rescale = maximum == larger ? 1.0f : exp_of({maximum - larger})[0];
    // 16 lanes by 4 accumulators, then the halving tree
    float slots[64] = {};
    for (std::size_t j = 0; j < n; ++j) slots[j % 64] += e[j];
    float lanes[16];
    for (std::size_t l = 0; l < 16; ++l) lanes[l] = (slots[l] + slots[l + 16]) + (slots[l + 32] + slots[l + 48]);
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    total = total * rescale + lanes[0];
    weighted *= rescale;
    for (std::size_t j = 0; j < n; ++j) weighted = std::fma(e[j], v[begin + j], weighted);
    maximum = larger;
  }
  EXPECT_EQ(out, weighted * (1 / total));
}

}  // namespace
}  // namespace reprise
