// SPDX-License-Identifier: Apache-2.0
// The op table against the figures kept with the sources.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/differentiate.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "reference/figures_pointwise.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

using Ids = std::vector<ValueId>;

TensorType float64(const Shape& shape) { return {DType::float64, shape, Device::cpu}; }

/// Emits `opcode` on x, and returns y and the gradient of <y, gy>.
std::vector<HostTensor> value_and_gradient(Opcode opcode, const Attrs& attrs, std::vector<double> x, std::vector<double> gy) {
  Trace trace;
  Builder b(trace);
  const ValueId input = trace.add_input(float64(Shape{static_cast<std::int64_t>(x.size())}), Role::batch, "x");
  const ValueId y = b.emit(opcode, {input}, attrs);
  const ValueId upstream = trace.add_input(b.type(y), Role::batch, "gy");
  trace.outputs = {ops::sum(b, ops::mul(b, y, upstream)), y};
  const JointTrace joint = differentiate(trace, Ids{input});
  const std::vector<HostTensor> inputs = {HostTensor::of<double>(b.shape(input), x), HostTensor::of<double>(b.shape(y), gy)};
  const std::vector<HostTensor> results = interpret(joint.trace, inputs);
  return {results[1], results[2]};
}

TEST(Figures, PointwiseValuesAndGradients) {
  for (const test::PointFigure& figure : test::kPointFigures) {
    const Opcode opcode = find_opcode(figure.op).value();
    const auto results = value_and_gradient(opcode, NoAttrs{}, {figure.x}, {figure.gy});
    const double bound = test::tolerance(DType::float64);
    EXPECT_TRUE(test::near(results[0].number(), figure.y, bound)) << figure.op << " at " << figure.x << ": " << results[0].number();
    EXPECT_TRUE(test::near(results[1].number(), figure.gx, bound)) << figure.op << " at " << figure.x << ": slope " << results[1].number();
  }
}

TEST(Figures, RowValuesAndGradients) {
  for (const test::RowFigure& figure : test::kRowFigures) {
    const bool keeps_size = figure.op == "softmax";
    const Attrs attrs = keeps_size ? Attrs(DimAttrs{}) : Attrs(ReduceAttrs{});
    const std::size_t count = keeps_size ? figure.size : 1;
    const auto results =
        value_and_gradient(find_opcode(figure.op).value(), attrs, {figure.x, figure.x + figure.size}, {figure.gy, figure.gy + count});
    const double bound = test::tolerance(DType::float64, 7);
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(test::near(results[0].number(i), figure.y[i], bound)) << figure.op << " " << i;
    for (std::size_t i = 0; i < figure.size; ++i) {
      EXPECT_TRUE(test::near(results[1].number(i), figure.gx[i], bound)) << figure.op << " slope " << i;
    }
  }
}

TEST(Figures, AdamWSteps) {
  AdamWAttrs attrs;
  attrs.weight_decay = 0.1;
  std::vector<HostTensor> state(3, HostTensor::of<double>(Shape{1}, std::vector<double>{0}));
  state[0].as<double>()[0] = test::kAdamWStart;
  std::int64_t t = 0;
  for (const test::AdamWFigure& figure : test::kAdamWFigures) {
    Trace trace;
    Builder b(trace);
    const std::vector<HostTensor> values = {state[0],           HostTensor::of<double>(Shape{1}, std::vector<double>{figure.g}),
                                            state[1],           state[2],
                                            HostTensor::scalar(0.01), HostTensor::scalar(++t)};
    Ids in;
    for (const HostTensor& value : values) in.push_back(trace.add_input(value.type(), Role::state, "x"));
    const ops::AdamWResult next = ops::adamw(b, {in[0], in[1], in[2], in[3], in[4], in[5], {}, {}, {}}, attrs);
    trace.outputs = {next.p, next.m, next.v};
    state = interpret(trace, values);
    EXPECT_TRUE(test::near(state[0].number(), figure.p, test::tolerance(DType::float64, 8))) << "step " << t << ": " << state[0].number();
  }
}

}  // namespace
}  // namespace reprise
