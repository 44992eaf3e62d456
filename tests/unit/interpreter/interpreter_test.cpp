// SPDX-License-Identifier: Apache-2.0
// The interpreter against results worked out by hand: in-place nodes, user ops, the observer, errors.
#include "interpreter/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/builders.h"
#include "ops/op_table.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

const Shape kShape{2, 3};

HostTensor six(double first = 1) {
  return HostTensor::of<float>(kShape, {static_cast<float>(first), 2, 3, 4, 5, 6});
}

std::vector<double> run_one(const Trace& trace, const std::vector<HostTensor>& inputs) { return interpret(trace, inputs).at(0).numbers(); }

struct Fixture {
  Trace trace;
  Builder b{trace};
  ValueId x = trace.add_input({DType::float32, kShape}, Role::batch, "x");
};

TEST(HostTensor, HoldsWhatItWasGiven) {
  const HostTensor x = HostTensor::from_numbers({DType::bfloat16, {3}}, std::vector<double>{1, -0.5, 1.00390625});
  EXPECT_EQ(x.numbers(), (std::vector<double>{1, -0.5, 1}));  // 1 + 2^-8 is a tie, and goes to even
  EXPECT_EQ(HostTensor::scalar(std::int64_t{7}).number(), 7);
  EXPECT_EQ(HostTensor(TensorType{DType::boolean, {2}}).numbers(), (std::vector<double>{0, 0}));
  EXPECT_TRUE(six() == six());
  EXPECT_FALSE(six(0.0) == six(-0.0));
  EXPECT_EQ(six().first_nonfinite(), 6u);
  EXPECT_EQ(six(std::numeric_limits<double>::quiet_NaN()).first_nonfinite(), 0u);
  EXPECT_USER_ERROR(HostTensor::of<float>({2}, {1, 2, 3}), "a tensor of type float32[2] holds 2 elements, given 3");
  EXPECT_INTERNAL_ERROR(six().as<double>(), "a float32 tensor was read as float64");
}

TEST(Interpreter, RunsNodesInOrder) {
  Fixture f;
  f.trace.outputs = {ops::add_scalar(f.b, ops::add(f.b, f.x, ops::neg(f.b, f.x)), 2), f.x};
  EXPECT_EQ(run_one(f.trace, {six()}), std::vector<double>(6, 2));
  EXPECT_TRUE(interpret(f.trace, std::vector{six()})[1] == six());
}

TEST(Interpreter, InPlaceOnAnInputLeavesTheCallersTensorAlone) {
  Fixture f;
  f.trace.outputs = {f.b.emit_in_place(op::add, {f.x, ops::reshape(f.b, f.x, kShape)}), f.x};
  const std::vector inputs = {six()};
  const auto outputs = interpret(f.trace, inputs);
  EXPECT_EQ(outputs[0].numbers(), (std::vector<double>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(outputs[1].numbers(), outputs[0].numbers());
  EXPECT_TRUE(inputs[0] == six());
}

TEST(Interpreter, UserOpsRunByEvaluateOrDecomposition) {
  OpRow row;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
  row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
    const double k = std::get<double>(node.as<CustomAttrs>().fields.at(0).second);
    return std::vector{ops::mul_scalar(b, ops::add(b, inputs[0], inputs[0]), k)};
  };
  const Opcode mine = register_op("interpreter_test_op", row);
  Fixture f;
  f.trace.outputs = {f.b.emit(mine, {f.x}, CustomAttrs{"", {{"k", 0.5}}})};
  EXPECT_TRUE(interpret(f.trace, std::vector{six()})[0] == six());
}

TEST(Interpreter, ObserverSeesEveryNode) {
  Fixture f;
  f.trace.outputs = {ops::exp(f.b, ops::sqrt(f.b, f.x))};
  std::string first_bad;
  InterpretOptions options;
  options.observe = [&](const Trace& trace, NodeId node, std::span<const HostTensor> outputs) {
    if (first_bad.empty() && outputs[0].first_nonfinite() != outputs[0].size()) first_bad = opcode_name(trace[node].opcode);
  };
  interpret(f.trace, std::vector{six(-1)}, options);
  EXPECT_EQ(first_bad, "sqrt");
}

TEST(Interpreter, MisfitsAreNamed) {
  Fixture f;
  f.trace.outputs = {f.x};
  EXPECT_USER_ERROR(interpret(f.trace, {}), "trace 'trace' takes 1 inputs, given 0");
  EXPECT_USER_ERROR(interpret(f.trace, std::vector{HostTensor::scalar(1.0f)}),
                    "input %x of trace 'trace' is float32[2, 3], given float32[]");
}

}  // namespace
}  // namespace reprise
