// SPDX-License-Identifier: Apache-2.0
// The op table checked from its own samples: no column that must be filled is empty; every sample infers, evaluates to
// finite numbers, agrees with its decomposition, and has the gradient that finite differences give in float64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/differentiate.h"
#include "base/error.h"
#include "base/philox.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "ops/op_table.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

Opcode opcode_at(std::size_t i) { return Opcode{static_cast<std::uint16_t>(i)}; }

bool is_random(const OpRow& row) { return has_trait(row.traits, Trait::random); }

std::string label(const OpRow& row, const OpSample& sample) { return fmt::format("{}.{}", opcode_name(row.opcode), sample.name); }

DType widened(DType dtype) { return is_floating(dtype) ? DType::float64 : dtype; }

/// A trace of one op, or of its decomposition, and numbers for its inputs.
struct Program {
  Trace trace;
  std::vector<HostTensor> inputs;
};

HostTensor fill(const SampleInput& input, const TensorType& type, std::uint64_t seed) {
  std::vector<double> numbers(static_cast<std::size_t>(type.shape.numel()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double u = uniform_double(philox_word(seed, i));
    numbers[i] = is_floating(type.dtype) ? input.low + (input.high - input.low) * u
                                         : input.low + std::floor((input.high - input.low + 1) * u);
  }
  return HostTensor::from_numbers(type, numbers);
}

/// Widens what a body computes in; the bodies of samples hold no constants of their own type.
Trace widened(Trace body) {
  for (Value& value : body.values) value.type.dtype = widened(value.type.dtype);
  return body;
}

Program program(const OpRow& row, const OpSample& sample, bool wide, bool decomposed) {
  Program result;
  Builder b(result.trace);
  Node node;
  node.opcode = row.opcode;
  node.attrs = sample.attrs;
  for (const SampleInput& input : sample.inputs) {
    TensorType type = input.type;
    if (wide) type.dtype = widened(type.dtype);
    node.inputs.push_back(result.trace.add_input(type, Role::batch, fmt::format("x{}", node.inputs.size())));
    result.inputs.push_back(fill(input, type, 17 * (node.inputs.size() + 1) + row.opcode.index));
  }
  for (const Trace& body : sample.bodies) node.bodies.push_back(wide ? widened(body) : body);
  const std::vector<ValueId> inputs = node.inputs;
  result.trace.outputs = decomposed ? row.decompose(b, node, inputs) : b.emit_like(node, inputs);
  return result;
}

TEST(OpTable, EveryColumnIsFilled) {
  for (std::size_t i = 0; i < kBuiltinOpcodeCount; ++i) {
    const std::string name(opcode_name(opcode_at(i)));
    const OpRow* row = nullptr;
    ASSERT_NO_THROW(row = &op_row(opcode_at(i))) << name;
    EXPECT_TRUE(row->infer) << name;
    EXPECT_TRUE(row->cost) << name;
    EXPECT_TRUE(row->evaluate || is_random(*row)) << name;
    EXPECT_FALSE(row->evaluate && is_random(*row)) << name << " has no numbers before the rng pass";
    EXPECT_EQ(has_trait(row->traits, Trait::view), static_cast<bool>(row->layout)) << name;
    ASSERT_TRUE(row->samples) << name;
    const std::vector<OpSample> samples = row->samples();
    EXPECT_FALSE(samples.empty()) << name;
    // An op without a derivative says so in every sample.
    const bool differentiable = std::any_of(samples.begin(), samples.end(), [](const OpSample& s) { return s.differentiable; });
    EXPECT_TRUE(!differentiable || row->vjp || row->decompose) << name << " has differentiable samples but no vjp";
    EXPECT_TRUE(differentiable || !row->vjp || is_random(*row)) << name << " has a vjp that no sample checks";
  }
}

class OpSamples : public testing::TestWithParam<std::size_t> {
 protected:
  const OpRow& row() const { return op_row(opcode_at(GetParam())); }
};

TEST_P(OpSamples, EvaluateToFiniteNumbers) {
  for (const OpSample& sample : row().samples()) {
    const Program p = program(row(), sample, false, false);
    const Node& node = p.trace.nodes.at(0);
    std::vector<TensorType> inputs;
    std::vector<TensorType> outputs;
    for (const ValueId id : node.inputs) inputs.push_back(p.trace.type(id));
    for (const ValueId id : node.outputs) outputs.push_back(p.trace.type(id));
    const Cost cost = row().cost(node, inputs, outputs);
    EXPECT_TRUE(cost.flops >= 0 && cost.bytes_read >= 0 && cost.bytes_written >= 0) << label(row(), sample);
    if (is_random(row())) continue;
    for (const HostTensor& result : interpret(p.trace, p.inputs)) {
      EXPECT_EQ(result.first_nonfinite(), result.size()) << label(row(), sample);
    }
  }
}

TEST_P(OpSamples, AgreeWithTheirDecomposition) {
  if (!row().decompose) return;
  for (const OpSample& sample : row().samples()) {
    const Program whole = program(row(), sample, true, false);
    const Program parts = program(row(), sample, true, true);
    const std::vector<HostTensor> expected = interpret(whole.trace, whole.inputs);
    const std::vector<HostTensor> actual = interpret(parts.trace, parts.inputs);
    ASSERT_EQ(actual.size(), expected.size()) << label(row(), sample);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].type(), expected[i].type()) << label(row(), sample) << " output " << i;
      const std::vector<double> a = actual[i].numbers();
      const std::vector<double> e = expected[i].numbers();
      for (std::size_t k = 0; k < a.size(); ++k) {
        EXPECT_TRUE(test::near(a[k], e[k], test::tolerance(DType::float64, 64)))
            << label(row(), sample) << " output " << i << " element " << k << ": " << a[k] << " and " << e[k];
      }
    }
  }
}

/// Adds the loss sum(out * weights) over the floating outputs, the weights being further inputs.
void add_loss(Program& p) {
  Builder b(p.trace);
  ValueId loss;
  for (const ValueId out : std::vector<ValueId>(p.trace.outputs)) {
    if (!is_floating(b.dtype(out))) continue;
    const ValueId weights = p.trace.add_input(b.type(out), Role::batch, "weights");
    p.inputs.push_back(fill({b.type(out), -1, 1}, b.type(out), 1000 + p.inputs.size()));
    const ValueId term = ops::sum(b, ops::mul(b, out, weights));
    loss = loss.valid() ? ops::add(b, loss, term) : term;
  }
  ASSERT_TRUE(loss.valid());
  p.trace.outputs = {loss};
}

TEST_P(OpSamples, HaveTheGradientOfFiniteDifferences) {
  for (const OpSample& sample : row().samples()) {
    if (!sample.differentiable) continue;
    Program p = program(row(), sample, true, false);
    add_loss(p);
    std::vector<std::size_t> floating;
    std::vector<ValueId> wrt;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!is_floating(sample.inputs[i].type.dtype)) continue;
      floating.push_back(i);
      wrt.push_back(p.trace.inputs[i].value);
    }
    const JointTrace joint = differentiate(p.trace, wrt);
    const std::vector<HostTensor> results = interpret(joint.trace, p.inputs);
    const auto loss_at = [&](std::size_t input, std::size_t k, double x) {
      std::vector<HostTensor> moved = p.inputs;
      moved[input].as<double>()[k] = x;
      return interpret(p.trace, moved).at(0).number();
    };
    for (std::size_t f = 0; f < floating.size(); ++f) {
      const std::vector<double> gradient = results.at(1 + f).numbers();
      const std::size_t stride = 1 + gradient.size() / 24;
      for (std::size_t k = 0; k < gradient.size(); k += stride) {
        const double x = p.inputs[floating[f]].number(k);
        const double step = test::kDifferenceStep;
        const double slope = (loss_at(floating[f], k, x + step) - loss_at(floating[f], k, x - step)) / (2 * step);
        EXPECT_TRUE(test::near(gradient[k], slope, test::difference_tolerance(static_cast<std::int64_t>(gradient.size()))))
            << label(row(), sample) << " input " << floating[f] << " element " << k << ": " << gradient[k] << ", differences give "
            << slope;
      }
    }
  }
}

/// Loading bfloat16 is exact and storing rounds once: the result is the float32 result, rounded.
TEST_P(OpSamples, PointwiseInBfloat16IsFloat32Rounded) {
  if (!has_trait(row().traits, Trait::pointwise) || !row().evaluate || row().opcode == op::adamw || row().opcode == op::cast) return;
  for (const OpSample& sample : row().samples()) {
    OpSample narrow = sample;
    for (SampleInput& input : narrow.inputs) {
      if (is_floating(input.type.dtype)) input.type.dtype = DType::bfloat16;
    }
    const Program p = program(row(), narrow, false, false);
    Program wide = program(row(), sample, false, false);
    for (std::size_t i = 0; i < wide.inputs.size(); ++i) {
      wide.inputs[i] = HostTensor::from_numbers(wide.inputs[i].type(), p.inputs[i].numbers());
    }
    const HostTensor actual = interpret(p.trace, p.inputs).at(0);
    const HostTensor expected = interpret(wide.trace, wide.inputs).at(0);
    EXPECT_EQ(actual, HostTensor::from_numbers(actual.type(), expected.numbers())) << label(row(), sample);
  }
}

std::string parameter_name(const testing::TestParamInfo<std::size_t>& info) { return std::string(opcode_name(opcode_at(info.param))); }

INSTANTIATE_TEST_SUITE_P(Every, OpSamples, testing::Range<std::size_t>(0, kBuiltinOpcodeCount), parameter_name);

}  // namespace
}  // namespace reprise
