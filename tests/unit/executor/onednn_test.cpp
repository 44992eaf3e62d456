// SPDX-License-Identifier: Apache-2.0
// oneDNN's products against a plain loop in float64, in every layout, and their bits across thread counts.
#include "executor/onednn/executor.h"

#include <dnnl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/philox.h"
#include "base/target.h"
#include "base/thread_pool.h"
#include "executor/onednn/gemm.h"
#include "support/expect_error.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<std::int32_t>(philox_word(seed, i))) * 0x1p-31f;
  }
  return values;
}

/// A tensor with free strides over its own numbers.
struct Operand {
  TensorType type;
  std::vector<std::int64_t> strides;
  std::vector<float> data;

  TensorView view() { return {reinterpret_cast<std::byte*>(data.data()), &type, strides}; }
};

Operand dense(const Shape& shape, std::uint64_t seed) {
  return {{DType::float32, shape, Device::cpu}, shape.dense_strides(), numbers(shape.numel(), seed)};
}

/// As `dense`, but with the last two dimensions stored the other way round.
Operand column_major(const Shape& shape, std::uint64_t seed) {
  Operand operand = dense(shape, seed);
  const std::size_t rank = shape.rank();
  operand.strides[rank - 2] = 1;
  operand.strides[rank - 1] = shape[rank - 2];
  return operand;
}

std::vector<float> run(Opcode opcode, const Attrs& attrs, std::vector<Operand>& inputs, const Shape& out_shape, int threads) {
  const Executor& executor = onednn_executor();
  Node node;
  node.opcode = opcode;
  node.attrs = attrs;
  std::vector<TensorView> views;
  std::vector<TensorType> types;
  for (Operand& input : inputs) {
    views.push_back(input.view());
    types.push_back(input.type);
  }
  Operand out = dense(out_shape, 99);
  const std::vector<TensorView> outputs = {out.view()};
  const Target target = detect_target();
  const auto claim = executor.claim({node, types, std::span(&out.type, 1), target, threads});
  EXPECT_TRUE(claim.has_value());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(layout_satisfies(claim->layout(i), inputs[i].type.shape, inputs[i].strides));
  }
  ThreadPool pool(threads);
  executor.bind({node, views, outputs, target, threads})({views, outputs, {}, pool});
  return out.data;
}

double at(const Operand& operand, std::vector<std::int64_t> index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * operand.strides[i];
  return static_cast<double>(operand.data[static_cast<std::size_t>(offset)]);
}

TEST(Onednn, MatmulInEveryLayout) {
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{5, 7, 9}, {1, 33, 17}, {600, 40, 70}, {3, 530, 1}, {1, 1, 1}, {16, 1, 64}, {64, 600, 0}}) {
    for (int layout = 0; layout < 16; ++layout) {
      const bool ta = (layout & 1) != 0;
      const bool tb = (layout & 2) != 0;
      const Shape a_shape = ta ? Shape{k, m} : Shape{m, k};
      const Shape b_shape = tb ? Shape{n, k} : Shape{k, n};
      std::vector<Operand> inputs;
      inputs.push_back((layout & 4) != 0 ? column_major(a_shape, 1) : dense(a_shape, 1));
      inputs.push_back((layout & 8) != 0 ? column_major(b_shape, 2) : dense(b_shape, 2));
      const std::vector<float> one = run(op::matmul, MatmulAttrs{ta, tb}, inputs, {m, n}, 1);
      const std::vector<float> two = run(op::matmul, MatmulAttrs{ta, tb}, inputs, {m, n}, 2);
      ASSERT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l) {
            sum += at(inputs[0], ta ? std::vector{l, i} : std::vector{i, l}) * at(inputs[1], tb ? std::vector{j, l} : std::vector{l, j});
          }
          ASSERT_NEAR(one[static_cast<std::size_t>(i * n + j)], sum, test::tolerance(DType::float32, k))
              << m << " " << n << " " << k << " layout " << layout;
        }
      }
    }
  }
}

TEST(Onednn, BatchesBroadcast) {
  std::vector<Operand> inputs;
  inputs.push_back(dense({2, 1, 4, 5}, 1));
  inputs.push_back(dense({3, 5, 6}, 2));
  const std::vector<float> out = run(op::matmul, MatmulAttrs{}, inputs, {2, 3, 4, 6}, 2);
  for (std::int64_t p = 0; p < 2; ++p) {
    for (std::int64_t q = 0; q < 3; ++q) {
      for (std::int64_t i = 0; i < 4; ++i) {
        for (std::int64_t j = 0; j < 6; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < 5; ++l) sum += at(inputs[0], {p, 0, i, l}) * at(inputs[1], {q, l, j});
          EXPECT_NEAR(out[static_cast<std::size_t>(((p * 3 + q) * 4 + i) * 6 + j)], sum, test::tolerance(DType::float32, 5));
        }
      }
    }
  }
}

TEST(Onednn, LinearAddsItsBiasAfterTheProduct) {
  std::vector<Operand> inputs;
  inputs.push_back(dense({2, 300, 8}, 1));
  inputs.push_back(dense({6, 8}, 2));
  const std::vector<float> product = run(op::linear, NoAttrs{}, inputs, {2, 300, 6}, 1);
  inputs.push_back(dense({6}, 3));
  const std::vector<float> with_bias = run(op::linear, NoAttrs{}, inputs, {2, 300, 6}, 2);
  for (std::size_t i = 0; i < product.size(); ++i) EXPECT_EQ(with_bias[i], product[i] + inputs[2].data[i % 6]);
}

TEST(Onednn, AccumulateAddsToC) {
  std::vector<Operand> inputs;
  inputs.push_back(dense({20, 30}, 3));
  inputs.push_back(dense({40, 20}, 1));
  inputs.push_back(dense({40, 30}, 2));
  const std::vector<float> out = run(op::matmul_accumulate, MatmulAttrs{true, false}, inputs, {20, 30}, 2);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t j = 0; j < 30; ++j) {
      double sum = at(inputs[0], {i, j});
      for (std::int64_t l = 0; l < 40; ++l) sum += at(inputs[1], {l, i}) * at(inputs[2], {l, j});
      EXPECT_NEAR(out[static_cast<std::size_t>(i * 30 + j)], sum, test::tolerance(DType::float32, 41));
    }
  }
}

TEST(Onednn, SlicesDependOnSizesAlone) {
  EXPECT_EQ(gemm_slices(512, 768), (GemmSlices{false, 384, 2}));
  EXPECT_EQ(gemm_slices(512, 3072), (GemmSlices{false, 384, 8}));
  EXPECT_EQ(gemm_slices(50304, 768), (GemmSlices{true, 3152, 16}));
  EXPECT_EQ(gemm_slices(1, 1), (GemmSlices{true, 16, 1}));
}

TEST(Onednn, TooLittleMemoryIsTheMachinesFault) {
  check_gemm_status(dnnl_success, 2, 3, 4);
  test::expect_error<DeviceError>([] { check_gemm_status(dnnl_out_of_memory, 2, 3, 4); },
                                  "oneDNN could not get memory for a product of 2 x 3 x 4: free memory", __FILE__, __LINE__);
  EXPECT_INTERNAL_ERROR(check_gemm_status(dnnl_invalid_arguments, 2, 3, 4), "oneDNN refused a product of 2 x 3 x 4: status 2");
}

TEST(Onednn, LeavesOtherTypesAndRanksAlone) {
  const Executor& executor = onednn_executor();
  const Target target = detect_target();
  Node node;
  node.opcode = op::matmul;
  node.attrs = MatmulAttrs{};
  const auto claims = [&](DType dtype, const Shape& a, const Shape& b, const Shape& out) {
    const std::vector<TensorType> types = {{dtype, a, Device::cpu}, {dtype, b, Device::cpu}};
    const TensorType out_type{dtype, out, Device::cpu};
    return executor.claim({node, types, std::span(&out_type, 1), target, 1}).has_value();
  };
  EXPECT_TRUE(claims(DType::float32, {2, 3}, {3, 4}, {2, 4}));
  EXPECT_FALSE(claims(DType::float64, {2, 3}, {3, 4}, {2, 4}));
  EXPECT_FALSE(claims(DType::float32, {3}, {3, 4}, {4}));
}

}  // namespace
}  // namespace reprise
