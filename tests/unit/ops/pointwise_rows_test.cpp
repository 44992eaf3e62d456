// SPDX-License-Identifier: Apache-2.0
// Types that pointwise ops, reductions, ordering, random draws and the optimizer refuse, with the words they use; and
// values on the edges that the reference data has no case for.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/adamw_formula.h"
#include "base/philox.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TensorType typed(DType dtype, const Shape& shape) { return {dtype, shape, Device::cpu}; }

/// A trace whose inputs are made as they are asked for.
struct Inputs {
  Trace trace;
  Builder b{trace};
  std::vector<HostTensor> values;

  ValueId of(DType dtype, const Shape& shape) { return trace.add_input(typed(dtype, shape), Role::batch, "x"); }
  ValueId value(const HostTensor& tensor) {
    values.push_back(tensor);
    return trace.add_input(tensor.type(), Role::batch, "x");
  }
  std::vector<double> run(ValueId out) {
    trace.outputs = {out};
    return interpret(trace, values).at(0).numbers();
  }
};

TEST(RowErrors, NameTheOpAndTheTypes) {
  Inputs in;
  const ValueId x = in.of(DType::float32, Shape{2, 3});
  const ValueId wide = in.of(DType::float64, Shape{2, 3});
  const ValueId other = in.of(DType::float32, Shape{4});
  const ValueId whole = in.of(DType::int64, Shape{2, 3});
  const ValueId flags = in.of(DType::boolean, Shape{2, 3});
  const ValueId half = in.of(DType::float16, Shape{2, 3});
  Builder& b = in.b;
  EXPECT_USER_ERROR(ops::add(b, x, wide), "add: inputs must have one dtype, cast one of them: float32[2, 3], float64[2, 3]");
  EXPECT_USER_ERROR(ops::mul(b, x, other), "mul: shapes do not broadcast, extents must be equal or 1: float32[2, 3], float32[4]");
  EXPECT_USER_ERROR(ops::exp(b, whole), "exp: input 0 must be float32, float64 or bfloat16: int64[2, 3]");
  EXPECT_USER_ERROR(ops::div(b, whole, whole), "div: input 0 must be float32, float64 or bfloat16");
  EXPECT_USER_ERROR(ops::neg(b, flags), "neg: input 0 must be float32, float64, bfloat16, int32 or int64: bool[2, 3]");
  EXPECT_USER_ERROR(ops::exp(b, half), "exp: input 0 must be float32, float64 or bfloat16: float16[2, 3]");
  EXPECT_USER_ERROR(b.emit(op::exp, {x, x}), "exp: takes 1 inputs, not 2");
  EXPECT_USER_ERROR(ops::where(b, x, x, x), "where: input 0 must be bool");
  EXPECT_USER_ERROR(ops::unary(b, op::logical_not, x), "logical_not: input 0 must be bool");
  EXPECT_USER_ERROR(ops::silu_backward(b, x, other), "silu_backward: x and its cotangent must have one shape");
  EXPECT_USER_ERROR(ops::mul_scalar(b, whole, 0.5), "mul_scalar: an integer tensor takes a whole number, cast it first: 0.5");
  EXPECT_USER_ERROR(ops::masked_fill(b, flags, whole, 0.5), "masked_fill: an integer tensor takes a whole number: 0.5");
  EXPECT_USER_ERROR(ops::clamp(b, x, {}, {}), "clamp: needs a lower or an upper bound");
  EXPECT_USER_ERROR(ops::iota(b, -1), "iota: a size cannot be negative: -1");
  EXPECT_USER_ERROR(ops::iota(b, 3, DType::boolean), "iota: counts numbers, not bool");
}

TEST(RowErrors, InPlaceKeepsTheType) {
  Inputs in;
  const ValueId row = in.of(DType::float32, Shape{3});
  const ValueId x = in.of(DType::float32, Shape{2, 3});
  EXPECT_USER_ERROR(in.b.emit_in_place(op::add, {row, x}), "add: in place the result must have input 0's type, not float32[2, 3]");
  EXPECT_USER_ERROR(in.b.emit_in_place(op::copy, {row, x}), "copy: the source must broadcast to the target's shape");
  EXPECT_EQ(in.b.shape(in.b.emit_in_place(op::copy, {x, row})), (Shape{2, 3}));
}

TEST(RowErrors, Reductions) {
  Inputs in;
  const ValueId x = in.of(DType::float32, Shape{2, 3});
  const ValueId none = in.of(DType::float32, Shape{0, 3});
  Builder& b = in.b;
  EXPECT_USER_ERROR(ops::sum(b, x, Ints{2}), "sum: dimension out of range for shape [2, 3] of rank 2: 2");
  EXPECT_USER_ERROR(ops::sum(b, x, Ints{1, -1}), "sum: a dimension of [2, 3] is given twice: -1");
  EXPECT_USER_ERROR(ops::reduce(b, op::amax, none, Ints{0}), "amax: has no value over no elements");
  EXPECT_EQ(b.shape(ops::reduce(b, op::amax, none, Ints{1})), (Shape{0}));
  EXPECT_USER_ERROR(ops::cumsum(b, x, 5), "cumsum: dimension 5 out of range for rank 2");
  EXPECT_USER_ERROR(b.emit(op::softmax_backward, {x, none}, DimAttrs{0}),
                    "softmax_backward: the result and its cotangent must have one shape");
}

TEST(RowErrors, Ordering) {
  Inputs in;
  const ValueId x = in.of(DType::float32, Shape{2, 3});
  const ValueId none = in.of(DType::float32, Shape{0, 3});
  EXPECT_USER_ERROR(ops::topk(in.b, x, 4), "topk: k must be at most the extent 3: 4");
  EXPECT_USER_ERROR(ops::argmax(in.b, none, 0), "argmax: has no value over no elements");
  EXPECT_USER_ERROR(ops::bincount(in.b, x, 4), "bincount: input 0 holds indices and must be int32 or int64");
  const ValueId counted = in.b.trace().add_input(typed(DType::int64, Shape{1}), Role::batch, "t");
  EXPECT_USER_ERROR(ops::bincount(in.b, counted, -4), "bincount: a size cannot be negative: -4");
  Inputs run;
  const ValueId t = run.value(HostTensor::of<std::int64_t>(Shape{2}, std::vector<std::int64_t>{0, 9}));
  EXPECT_USER_ERROR(run.run(ops::bincount(run.b, t, 4)), "bincount: a value is outside [0, 4): 9");
  Inputs divided;
  const ValueId a = divided.value(HostTensor::scalar<std::int64_t>(5));
  const ValueId zero = divided.value(HostTensor::scalar<std::int64_t>(0));
  EXPECT_USER_ERROR(divided.run(ops::binary(divided.b, op::fmod, a, zero)), "fmod: integer division by zero: 5 by 0");
}

TEST(RowErrors, Draws) {
  Inputs in;
  const ValueId x = in.of(DType::float32, Shape{2, 3});
  const ValueId seed = in.of(DType::int64, Shape{});
  Builder& b = in.b;
  EXPECT_USER_ERROR(ops::dropout(b, x, 1.5), "dropout: a probability lies in [0, 1]: 1.5");
  EXPECT_USER_ERROR(ops::uniform(b, Shape{3}, DType::bfloat16), "uniform: draws are float32 or float64, cast the result: bfloat16");
  EXPECT_USER_ERROR(ops::philox_dropout(b, x, seed, seed, 0.5, 3), "philox_dropout: a draw starts at a multiple of 4: 3");
  EXPECT_USER_ERROR(ops::philox_dropout(b, x, x, seed, 0.5, 4), "philox_dropout: input 1 must be a scalar of int64");
}

TEST(RowErrors, Optimizer) {
  Inputs in;
  const ValueId p = in.of(DType::float32, Shape{3});
  const ValueId narrow = in.of(DType::bfloat16, Shape{3});
  const ValueId other = in.of(DType::float32, Shape{4});
  const ValueId lr = in.of(DType::float32, Shape{});
  const ValueId step = in.of(DType::int64, Shape{});
  Builder& b = in.b;
  AdamWAttrs stochastic;
  stochastic.rounding = Rounding::stochastic;
  AdamWAttrs negative;
  negative.parameter = -1;
  EXPECT_USER_ERROR(ops::clip_coefficient(b, lr, 0), "clip_coefficient: the largest norm must be above 0: 0");
  EXPECT_USER_ERROR(ops::adamw(b, {p, other, p, p, lr, step, {}, {}, {}}, {}),
                    "adamw: parameter, gradient and moments must have one shape");
  EXPECT_USER_ERROR(ops::adamw(b, {narrow, narrow, p, p, lr, step, {}, {}, {}}, {}), "adamw: the moments must be bfloat16");
  EXPECT_USER_ERROR(ops::adamw(b, {p, narrow, p, p, lr, step, {}, {}, {}}, {}),
                    "adamw: the gradient must have the parameter's dtype or float32");
  EXPECT_USER_ERROR(ops::adamw(b, {p, p, p, p, step, step, {}, {}, {}}, {}), "adamw: input 4 must be a scalar of float32");
  EXPECT_USER_ERROR(ops::adamw(b, {p, p, p, p, lr, step, {}, p, {}}, {}), "adamw: a float32 master goes with a bfloat16 parameter");
  EXPECT_USER_ERROR(ops::adamw(b, {p, p, p, p, lr, step, {}, {}, step}, stochastic),
                    "adamw: stochastic rounding is for bfloat16 parameters without a master");
  EXPECT_USER_ERROR(ops::adamw(b, {p, p, p, p, lr, step, {}, {}, {}}, negative), "adamw: not a parameter's index: -1");
  Inputs run;
  const ValueId x = run.value(HostTensor::of<float>(Shape{1}, std::vector<float>{1}));
  const ValueId rate = run.value(HostTensor::scalar(0.1f));
  const ValueId zeroth = run.value(HostTensor::scalar<std::int64_t>(0));
  EXPECT_USER_ERROR(run.run(ops::adamw(run.b, {x, x, x, x, rate, zeroth, {}, {}, {}}, {}).p), "adamw: steps count from 1: 0");
}

TEST(Cast, RoundsOnceAndSaturates) {
  Inputs in;
  // Halfway between two bfloat16 in float32, a little above in float64.
  const std::vector<double> numbers = {1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-40, -1 - 0x1p-8 - 0x1p-40, 1 + 3 * 0x1p-8 - 0x1p-40, kInf, 1e300};
  const ValueId x = in.value(HostTensor::of<double>(Shape{6}, numbers));
  const std::vector<double> expected = {1, 1 + 0x1p-7, -1 - 0x1p-7, 1 + 0x1p-7, kInf, kInf};
  EXPECT_EQ(in.run(ops::cast(in.b, x, DType::bfloat16)), expected);

  Inputs whole;
  const ValueId y = whole.value(HostTensor::of<double>(Shape{5}, std::vector<double>{2.9, -2.9, kNan, 1e30, -kInf}));
  const std::vector<double> truncated = {2, -2, 0, 0x1p63, -0x1p63};
  EXPECT_EQ(whole.run(ops::cast(whole.b, y, DType::int64)), truncated);
}

TEST(AdamW, StochasticRoundingDrawsFromStepParameterAndElement) {
  constexpr std::int64_t kSize = 40;
  AdamWAttrs attrs;
  attrs.weight_decay = 0.1;
  attrs.rounding = Rounding::stochastic;
  attrs.parameter = 7;
  const TensorType narrow = typed(DType::bfloat16, Shape{kSize});
  std::vector<double> numbers(kSize);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.01 * static_cast<double>(i) + 0.3;
  const HostTensor filled = HostTensor::from_numbers(narrow, numbers);
  Inputs in;
  const ValueId p = in.value(filled);
  const ValueId lr = in.value(HostTensor::scalar(0.01f));
  const ValueId step = in.value(HostTensor::scalar<std::int64_t>(3));
  const ValueId seed = in.value(HostTensor::scalar<std::int64_t>(99));
  const ops::AdamWResult result = ops::adamw(in.b, {p, p, p, p, lr, step, {}, {}, seed}, attrs);
  in.trace.outputs = {result.p, result.m, result.v};
  const std::vector<HostTensor> outputs = interpret(in.trace, in.values);
  const auto coefficients = optimizer::adamw_step<float>(0.01f, attrs.beta1, attrs.beta2, attrs.eps, attrs.weight_decay, 3);
  int differing = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto x = static_cast<float>(filled.number(i));
    const auto next = optimizer::adamw_element(coefficients, x, x, x, x);
    const auto rounded = [&](float value, optimizer::Rounded which) {
      const std::uint32_t word = philox_word(99, i, optimizer::rounding_subsequence(3, 7, which));
      return static_cast<double>(to_float(optimizer::stochastic_bfloat16(value, word)));
    };
    EXPECT_EQ(outputs[0].number(i), rounded(next.p, optimizer::Rounded::parameter));
    EXPECT_EQ(outputs[1].number(i), rounded(next.m, optimizer::Rounded::first_moment));
    EXPECT_EQ(outputs[2].number(i), rounded(next.v, optimizer::Rounded::second_moment));
    differing += outputs[0].number(i) != static_cast<double>(to_float(to_bfloat16(next.p))) ? 1 : 0;
  }
  EXPECT_GT(differing, 0);
}

}  // namespace
}  // namespace reprise
