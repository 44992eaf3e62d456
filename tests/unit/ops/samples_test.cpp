// SPDX-License-Identifier: Apache-2.0
// The op table checked from its own samples: no column that must be filled is empty, and bfloat16 is float32 rounded. The tests of the
// library's check_op run it on every op: values, decompositions, gradients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "interpreter/interpreter.h"
#include "interpreter/sampled_op.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

Opcode opcode_at(std::size_t i) { return Opcode{static_cast<std::uint16_t>(i)}; }

bool is_random(const OpRow& row) { return has_trait(row.traits, Trait::random); }

std::string label(const OpRow& row, const OpSample& sample) { return fmt::format("{}.{}", opcode_name(row.opcode), sample.name); }

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

/// Loading bfloat16 is exact and storing rounds once: the result is the float32 result, rounded.
TEST_P(OpSamples, PointwiseInBfloat16IsFloat32Rounded) {
  if (!has_trait(row().traits, Trait::pointwise) || !row().evaluate || row().opcode == op::adamw || row().opcode == op::cast) return;
  for (const OpSample& sample : row().samples()) {
    OpSample narrow = sample;
    for (SampleInput& input : narrow.inputs) {
      if (is_floating(input.type.dtype)) input.type.dtype = DType::bfloat16;
    }
    const SampledOp p = sampled_op(row().opcode, narrow);
    SampledOp wide = sampled_op(row().opcode, sample);
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
