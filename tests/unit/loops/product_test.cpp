// SPDX-License-Identifier: Apache-2.0
// The packed products against the contract's scalar order, bit for bit, at every instruction set this machine has.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "executor/loops/kernels.h"
#include "unit/loops/levels.h"

namespace reprise::loops {
namespace {

template <class E>
std::vector<E> operand(std::size_t n, std::uint32_t seed) {
  std::vector<E> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float x = random_float(seed, i);
    if constexpr (std::is_same_v<E, bfloat16>) {
      result[i] = to_bfloat16(x);
    } else {
      result[i] = static_cast<E>(x);
    }
  }
  return result;
}

/// m, n, k and whether each operand is stored transposed.
struct Shape {
  std::size_t m, n, k;
  bool transpose_a, transpose_b;
};

template <class E, class T>
void expect_contract(const ProductTable<E, T>& table, Shape s, bool accumulate) {
  const std::vector<E> a = operand<E>(s.m * s.k, 1);
  const std::vector<E> b = operand<E>(s.k * s.n, 2);
  std::vector<T> c(s.m * s.n);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<T>(random_float(3, i));
  std::vector<T> expected = c;
  const auto signed_size = [](std::size_t x) { return static_cast<std::int64_t>(x); };
  const Matrix<const E> ma =
      s.transpose_a ? Matrix<const E>{a.data(), 1, signed_size(s.m)} : Matrix<const E>{a.data(), signed_size(s.k), 1};
  const Matrix<const E> mb =
      s.transpose_b ? Matrix<const E>{b.data(), 1, signed_size(s.k)} : Matrix<const E>{b.data(), signed_size(s.n), 1};
  const auto wide = [](E x) {
    if constexpr (std::is_same_v<E, bfloat16>) {
      return to_float(x);
    } else {
      return x;
    }
  };
  for (std::size_t i = 0; i < s.m; ++i) {
    for (std::size_t j = 0; j < s.n; ++j) {
      const auto load_a = [&](std::size_t q) { return wide(ma.data[signed_size(i) * ma.row_stride + signed_size(q) * ma.column_stride]); };
      const auto load_b = [&](std::size_t q) { return wide(mb.data[signed_size(q) * mb.row_stride + signed_size(j) * mb.column_stride]); };
      T& element = expected[i * s.n + j];
      if constexpr (std::is_same_v<E, bfloat16>) {
        if (!accumulate) element = reduction::product_element_bfloat16(s.k, load_a, load_b);
      } else {
        element = accumulate ? reduction::product_element_onto<T>(element, s.k, load_a, load_b)
                             : reduction::product_element<T>(s.k, load_a, load_b);
      }
    }
  }
  for (const ProductBlocks blocks : {ProductBlocks{256}, ProductBlocks{24}}) {
    std::vector<T> workspace(table.workspace(blocks));
    std::vector<T> result = c;
    // two slices whose border is no multiple of a tile
    const std::size_t cut = s.m / 3;
    const Matrix<T> mc{result.data(), signed_size(s.n), 1};
    table.multiply(ma, mb, mc, s.k, 0, cut, 0, s.n, accumulate, blocks, workspace.data());
    table.multiply(ma, mb, mc, s.k, cut, s.m, 0, s.n, accumulate, blocks, workspace.data());
    ASSERT_EQ(std::memcmp(result.data(), expected.data(), result.size() * sizeof(T)), 0)
        << s.m << "x" << s.n << "x" << s.k << " " << s.transpose_a << s.transpose_b << accumulate;
  }
}

TEST(Product, ContractBitsInEveryLayoutAndLevel) {
  for (const IsaLevel level : levels_here()) {
    const Kernels& kernels = kernels_for(level);
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const Shape& s : {Shape{1, 1, 1, ta, tb}, Shape{17, 53, 700, ta, tb}, Shape{16, 96, 513, ta, tb}, Shape{3, 100, 40, ta, tb}}) {
          expect_contract(kernels.product_f32, s, false);
          expect_contract(kernels.product_f32, s, true);
          expect_contract(kernels.product_f64, s, false);
          expect_contract(kernels.product_f64, s, true);
          expect_contract(kernels.product_bf16, s, false);
        }
      }
    }
  }
}

TEST(Product, EmptySumIsZeroOrKeepsTheAccumulator) {
  const Kernels& kernels = kernels_for(levels_here().back());
  std::vector<float> c = {1, 2, 3, 4};
  std::vector<float> workspace(kernels.product_f32.workspace({}));
  kernels.product_f32.multiply({nullptr, 0, 1}, {nullptr, 2, 1}, {c.data(), 2, 1}, 0, 0, 2, 0, 2, true, {}, workspace.data());
  EXPECT_EQ(c, std::vector<float>({1, 2, 3, 4}));
  kernels.product_f32.multiply({nullptr, 0, 1}, {nullptr, 2, 1}, {c.data(), 2, 1}, 0, 0, 2, 0, 2, false, {}, workspace.data());
  EXPECT_EQ(c, std::vector<float>({0, 0, 0, 0}));
}

TEST(Product, FlushesDenormalsInBfloat16Only) {
  for (const IsaLevel level : levels_here()) {
    const Kernels& kernels = kernels_for(level);
    const bfloat16 tiny = to_bfloat16(1e-39f);
    const bfloat16 one = to_bfloat16(1.0f);
    float c = 5.0f;
    std::vector<float> workspace(kernels.product_bf16.workspace({}));
    kernels.product_bf16.multiply({&tiny, 1, 1}, {&one, 1, 1}, {&c, 1, 1}, 1, 0, 1, 0, 1, false, {}, workspace.data());
    EXPECT_EQ(c, 0.0f);
    const float tiny_f32 = 1e-39f;
    const float one_f32 = 1.0f;
    kernels.product_f32.multiply({&tiny_f32, 1, 1}, {&one_f32, 1, 1}, {&c, 1, 1}, 1, 0, 1, 0, 1, false, {}, workspace.data());
    EXPECT_EQ(c, 1e-39f);
  }
}

}  // namespace
}  // namespace reprise::loops
