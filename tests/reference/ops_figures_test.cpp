// SPDX-License-Identifier: Apache-2.0
// Composite ops and their gradients against figures computed apart, whole and decomposed: needs no reference data.
#include <gtest/gtest.h>

#include "autograd/differentiate.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "ops/op_table.h"
#include "reference/figures_ops.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

namespace figures = test::figures;
using Ids = std::vector<ValueId>;
using Numbers = std::vector<double>;

Numbers pattern(std::size_t n, std::size_t a, std::size_t b) {
  Numbers result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = (static_cast<double>((i * a + b) % 23) - 11) / 8;
  return result;
}

/// A trace under construction with its input numbers.
struct Program {
  Trace trace;
  Builder b{trace};
  std::vector<HostTensor> values;

  ValueId input(const Shape& shape, const Numbers& numbers) {
    values.push_back(HostTensor::of<double>(shape, numbers));
    return trace.add_input(values.back().type(), Role::batch, "x");
  }
  ValueId input(const Shape& shape, std::size_t a, std::size_t b0) {
    return input(shape, pattern(static_cast<std::size_t>(shape.numel()), a, b0));
  }
};

void expect_numbers(const HostTensor& actual, std::span<const double> expected, const char* what) {
  const Numbers numbers = actual.numbers();
  ASSERT_EQ(numbers.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(test::near(numbers[i], expected[i], test::tolerance(DType::float64, 8)))
        << what << " " << i << ": " << numbers[i] << " not " << expected[i];
  }
}

/// Emits the node's decomposition beside it when `whole` is false.
Ids outputs_of_last(Builder& b, bool whole) {
  const Node node = b.trace().nodes.back();
  return whole ? node.outputs : op_row(node.opcode).decompose(b, node, node.inputs);
}

/// Results of the outputs, then of the gradients of sum(outputs[0] * g) with respect to `wrt`.
std::vector<HostTensor> run(Program& p, const Ids& outputs, ValueId g, const Ids& wrt) {
  p.trace.outputs = outputs;
  p.trace.outputs.push_back(ops::sum(p.b, ops::mul(p.b, outputs[0], g)));
  return interpret(differentiate(p.trace, wrt, outputs.size()).trace, p.values);
}

class OpFigures : public testing::TestWithParam<bool> {};

TEST_P(OpFigures, Attention) {
  Program p;
  const ValueId q = p.input(Shape{1, 2, 3, 2}, 5, 3);
  const ValueId k = p.input(Shape{1, 1, 3, 2}, 7, 1);
  const ValueId v = p.input(Shape{1, 1, 3, 2}, 3, 8);
  const ValueId g = p.input(Shape{1, 2, 3, 2}, 11, 2);
  AttentionAttrs attrs;
  attrs.causal = true;
  attrs.window = 2;
  attrs.scale = 0.5;
  attrs.softcap = 1.5;
  ops::AttentionInputs inputs;
  inputs.q = q;
  inputs.k = k;
  inputs.v = v;
  ops::attention(p.b, inputs, attrs);
  auto outputs = outputs_of_last(p.b, GetParam());
  outputs[0] = ops::permute(p.b, outputs[0], {0, 2, 1, 3});  // the figures have it by heads
  const auto results = run(p, outputs, g, {q, k, v});
  expect_numbers(results[0], figures::kAttentionOut, "out");
  expect_numbers(results[1], figures::kAttentionLse, "lse");
  expect_numbers(results[3], figures::kAttentionGradQ, "gradient of q");
  expect_numbers(results[4], figures::kAttentionGradK, "gradient of k");
  expect_numbers(results[5], figures::kAttentionGradV, "gradient of v");
}

TEST_P(OpFigures, CrossEntropy) {
  Program p;
  const ValueId x = p.input(Shape{3, 4}, 5, 3);
  const ValueId g = p.input(Shape{3}, 11, 2);
  p.values.push_back(HostTensor::of<std::int64_t>(Shape{3}, {2, -100, 0}));
  const ValueId target = p.trace.add_input(p.values.back().type(), Role::batch, "target");
  CrossEntropyAttrs attrs;
  attrs.label_smoothing = 0.125;
  attrs.z_loss = 0.0625;
  ops::cross_entropy(p.b, x, target, attrs);
  const auto results = run(p, outputs_of_last(p.b, GetParam()), g, {x});
  expect_numbers(results[0], figures::kEntropyLoss, "loss");
  expect_numbers(results[3], figures::kEntropyGrad, "gradient of x");
}

TEST_P(OpFigures, LayerNorm) {
  Program p;
  const ValueId x = p.input(Shape{2, 3}, 5, 3);
  const ValueId w = p.input(Shape{3}, 7, 1);
  const ValueId bias = p.input(Shape{3}, 3, 8);
  const ValueId g = p.input(Shape{2, 3}, 11, 2);
  ops::layer_norm(p.b, x, w, bias, 0.25);
  const auto results = run(p, outputs_of_last(p.b, GetParam()), g, {x, w, bias});
  expect_numbers(results[0], figures::kLayerNorm, "y");
  expect_numbers(results[4], figures::kLayerNormGradX, "gradient of x");
  expect_numbers(results[5], figures::kLayerNormGradW, "gradient of weight");
  expect_numbers(results[6], figures::kLayerNormGradB, "gradient of bias");
}

TEST_P(OpFigures, RmsNorm) {
  Program p;
  const ValueId x = p.input(Shape{2, 3}, 5, 3);
  const ValueId w = p.input(Shape{3}, 7, 1);
  const ValueId g = p.input(Shape{2, 3}, 11, 2);
  ops::rms_norm(p.b, x, w, 0.25, true);
  const auto results = run(p, outputs_of_last(p.b, GetParam()), g, {x, w});
  expect_numbers(results[0], figures::kRmsNorm, "y");
  expect_numbers(results[3], figures::kRmsNormGradX, "gradient of x");
  expect_numbers(results[4], figures::kRmsNormGradW, "gradient of weight");
}

/// Quarter and eighth turns are exact: element by element by hand.
TEST_P(OpFigures, Rope) {
  const auto turned = [&](RopeLayout layout, const Shape& table, const Numbers& cos, const Numbers& sin, const Numbers& x) {
    Program p;
    const ValueId in = p.input(Shape{1, static_cast<std::int64_t>(x.size())}, x);
    const ValueId c = p.input(table, cos);
    const ValueId s = p.input(table, sin);
    ops::rope(p.b, in, c, s, layout);
    p.trace.outputs = outputs_of_last(p.b, GetParam());
    return interpret(p.trace, p.values)[0].numbers();
  };
  const Shape four{1, 4};
  const Numbers cos = {0, 0.5, 0, 0.5};
  const Numbers sin = {1, 0.25, 1, 0.25};
  const Numbers x = {1, 2, 3, 4, 5};
  EXPECT_EQ(turned(RopeLayout::half, four, cos, sin, x), (Numbers{-3, 0, 1, 2.5, 5}));
  EXPECT_EQ(turned(RopeLayout::interleaved, four, cos, sin, x), (Numbers{-2, 1, 0.5, 2.75, 5}));
  EXPECT_EQ(turned(RopeLayout::gathered, four, cos, sin, x), (Numbers{-2, 0.5, 1, 2.75, 5}));
  EXPECT_EQ(turned(RopeLayout::half, Shape{1, 3}, {0, 0.5, 1}, {1, 0.25, 2}, {1, 2, 3}), (Numbers{-2, 0.25, 5}));
}

TEST_P(OpFigures, Linear) {
  Program p;
  const ValueId x = p.input(Shape{2, 3}, {1, 2, 3, -1, 0, 2});
  const ValueId w = p.input(Shape{2, 3}, {1, 0, -1, 2, 1, 0.5});
  const ValueId bias = p.input(Shape{2}, {10, 20});
  const ValueId g = p.input(Shape{2, 2}, {1, 2, -1, 0});
  ops::linear(p.b, x, w, bias);
  const auto results = run(p, outputs_of_last(p.b, GetParam()), g, {x, w, bias});
  EXPECT_EQ(results[0].numbers(), (Numbers{8, 25.5, 7, 19}));
  EXPECT_EQ(results[2].numbers(), (Numbers{5, 2, 0, -1, 0, 1}));
  EXPECT_EQ(results[3].numbers(), (Numbers{2, 2, 1, 2, 4, 6}));
  EXPECT_EQ(results[4].numbers(), (Numbers{0, 2}));
}

std::string form_name(const testing::TestParamInfo<bool>& form) { return form.param ? "whole" : "decomposed"; }

INSTANTIATE_TEST_SUITE_P(Composites, OpFigures, testing::Bool(), form_name);

}  // namespace
}  // namespace reprise
