// SPDX-License-Identifier: Apache-2.0
// Draws and dropout against Random123's known answers and PyTorch's masked products.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/philox.h"
#include "interpreter/interpreter.h"
#include "reference/op_cases.h"
#include "support/reference_data.h"
#include "support/tolerance.h"

namespace reprise::test {
namespace {

TEST(ReferenceDropout, GivenMasks) {
  REPRISE_NEEDS_REFERENCE("ops/dropout_mask.safetensors");
  OpCases cases("dropout_mask");
  cases.skip("in_attention");  // with the cases of attention
  cases.check_all("", [&](const std::string& name) -> CaseFunction {
    return [&cases, name](Builder& b, const Ids& in) -> Ids {
      const ValueId scaled = ops::mul_scalar(b, in[0], 1 / (1 - cases.number(name, "p")));
      return {ops::where(b, in[1], scaled, ops::full(b, Shape{}, b.dtype(in[0]), 0))};
    };
  });
  cases.expect_all_done();
}

/// Runs a trace of one op on (seed, offset), or (x, seed, offset).
HostTensor draw(Opcode opcode, const PhiloxAttrs& attrs, std::uint64_t seed, std::int64_t offset, const HostTensor* x = nullptr) {
  Trace trace;
  Builder b(trace);
  std::vector<HostTensor> values;
  Ids inputs;
  if (x != nullptr) values.push_back(*x);
  values.push_back(HostTensor::scalar(static_cast<std::int64_t>(seed)));
  values.push_back(HostTensor::scalar(offset));
  for (const HostTensor& value : values) inputs.push_back(trace.add_input(value.type(), Role::rng, "x"));
  trace.outputs = {b.emit(opcode, inputs, attrs)};
  return interpret(trace, values).at(0);
}

std::uint64_t word_of(const Json& json) {
  return json.is_integer() ? static_cast<std::uint64_t>(json.integer()) : static_cast<std::uint64_t>(json.number());
}

// A seed above 2^63 reads as a double in JSON and is not exact: that stream is left to the tests of base/philox.h.
bool exact(const Json& json) { return json.is_integer(); }

TEST(ReferencePhilox, UniformDrawsAreTheStreamsWords) {
  REPRISE_NEEDS_REFERENCE("ops/philox.json");
  const Json json = read_json(reference_folder() / "ops" / "philox.json");
  int checked = 0;
  for (const Json& stream : json.find("streams")->items()) {
    if (!exact(*stream.find("seed")) || !exact(*stream.find("first_block"))) continue;
    const std::uint64_t seed = word_of(*stream.find("seed"));
    const auto offset = static_cast<std::int64_t>(word_of(*stream.find("first_block")) * 4);
    const Json::Array& words = stream.find("draws")->items();
    const auto count = static_cast<std::int64_t>(words.size());
    // The offset input and the op's own draw add up; part of a value is drawn as in the whole.
    const HostTensor doubles = draw(op::philox_uniform, {Shape{count}, DType::float64, 0, 0}, seed, offset);
    const HostTensor floats = draw(op::philox_uniform, {Shape{count - 16}, DType::float32, 16, 0}, seed, offset);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t word = word_of(words[static_cast<std::size_t>(i)]);
      EXPECT_EQ(doubles.number(static_cast<std::size_t>(i)), static_cast<double>(word) * 0x1p-32);
      if (i >= 16) {
        EXPECT_EQ(floats.number(static_cast<std::size_t>(i - 16)), static_cast<double>(word >> 8) * 0x1p-24);
      }
    }
    ++checked;
  }
  EXPECT_GE(checked, 4);
}

TEST(ReferencePhilox, NormalDrawsAreBoxMullerPairs) {
  REPRISE_NEEDS_REFERENCE("ops/philox.json");
  const Json json = read_json(reference_folder() / "ops" / "philox.json");
  const Json& stream = json.find("streams")->items()[1];
  const Json::Array& expected = json.find("conversions")->find("box_muller_f64")->items();
  const auto count = static_cast<std::int64_t>(expected.size());
  const auto offset = static_cast<std::int64_t>(word_of(*stream.find("first_block")) * 4);
  for (const DType dtype : {DType::float64, DType::float32}) {
    const HostTensor normal = draw(op::philox_normal, {Shape{count}, dtype, 0, 0}, word_of(*stream.find("seed")), offset);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(near(normal.number(i), expected[i].number(), tolerance(dtype))) << dtype_name(dtype) << " " << i;
    }
  }
}

TEST(ReferencePhilox, DropoutKeepsWhereTheDrawIsAtLeastP) {
  REPRISE_NEEDS_REFERENCE("ops/philox.json");
  const Json json = read_json(reference_folder() / "ops" / "philox.json");
  const Json& stream = json.find("streams")->items()[1];
  const Json::Array& words = stream.find("draws")->items();
  const auto count = static_cast<std::int64_t>(words.size());
  const auto offset = static_cast<std::int64_t>(word_of(*stream.find("first_block")) * 4);
  constexpr double kP = 0.3;
  for (const DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
    const TensorType type{dtype, Shape{count}, Device::cpu};
    const HostTensor x = HostTensor::from_numbers(type, std::vector<double>(words.size(), 0.75));
    const HostTensor y = draw(op::philox_dropout, {Shape{}, DType::float32, 0, kP}, word_of(*stream.find("seed")), offset, &x);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool keep = static_cast<double>(word_of(words[i]) >> 8) * 0x1p-24 >= kP;
      EXPECT_TRUE(near(y.number(i), keep ? 0.75 / (1 - kP) : 0, tolerance(dtype))) << dtype_name(dtype) << " " << i;
    }
  }
}

}  // namespace
}  // namespace reprise::test
