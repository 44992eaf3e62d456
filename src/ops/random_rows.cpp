// SPDX-License-Identifier: Apache-2.0
// Rows of random draws. `uniform`, `normal` and `dropout` advance a generator and have no meaning by themselves: they
// cannot be evaluated or differentiated before the rng pass names their draws and makes them the philox forms.
// Element i of a philox op reads word offset + draw + i of the stream `seed`: a recomputed or tiled value sees the same.
#include <fmt/format.h>

#include <cmath>

#include "base/elementary_wide.h"
#include "base/error.h"
#include "base/philox.h"
#include "base/row_formulas.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

/// Draws are float32 or float64: a narrower type would round a uniform number below 1 up to it.
void require_draw_dtype(const Node& node, TypeSpan inputs, DType dtype) {
  require_types(dtype == DType::float32 || dtype == DType::float64, node, inputs,
                fmt::format("draws are float32 or float64, cast the result: {}", dtype_name(dtype)));
}

void require_probability(const Node& node, TypeSpan inputs, double p) {
  require_types(p >= 0 && p <= 1, node, inputs, fmt::format("a probability lies in [0, 1]: {}", p));
}

OpRow generator_row(Opcode opcode) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::random | Trait::never_recompute;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    const auto& a = node.as<ShapeAttrs>();
    require_count(node, inputs, 0, 0);
    require_draw_dtype(node, inputs, a.dtype);
    return {{a.dtype, a.shape, Device::cpu}};
  };
  row.cost = cost_per_output(30);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("matrix", {}, ShapeAttrs{Shape{3, 5}, DType::float32}, false),
                                 op_sample("double", {}, ShapeAttrs{Shape{4}, DType::float64}, false)};
  };
  return row;
}

OpRow dropout_row() {
  OpRow row;
  row.opcode = op::dropout;
  row.traits = Trait::random | Trait::never_recompute;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_real(node, inputs);
    require_probability(node, inputs, node.as<DropoutAttrs>().p);
    return {inputs[0]};
  };
  row.vjp = [](VjpContext&) -> std::vector<ValueId> {
    throw InternalError("dropout cannot be differentiated before the rng pass has named its draws");
  };
  row.cost = cost_per_output(32);
  row.samples = [] { return std::vector<OpSample>{op_sample("matrix", {real_input(Shape{3, 5})}, DropoutAttrs{0.3}, false)}; };
  return row;
}

/// Where a draw's words begin.
struct Stream {
  std::uint64_t seed;
  std::uint64_t first;
};

/// Reads the seed and offset, inputs `i` and i + 1.
Stream stream(const EvalContext& c, std::size_t i) {
  const auto offset = c.scalar<std::int64_t>(i + 1) + c.node().as<PhiloxAttrs>().draw;
  return {static_cast<std::uint64_t>(c.scalar<std::int64_t>(i)), static_cast<std::uint64_t>(offset)};
}

void require_stream(const Node& node, TypeSpan inputs, std::size_t i) {
  require_scalar(node, inputs, i, DType::int64);
  require_scalar(node, inputs, i + 1, DType::int64);
  const std::int64_t draw = node.as<PhiloxAttrs>().draw;
  require_types(draw >= 0 && draw % 4 == 0, node, inputs, fmt::format("a draw starts at a multiple of 4: {}", draw));
}

std::vector<SampleInput> stream_inputs() { return {integer_input(Shape{}, 0, 1000000), integer_input(Shape{}, 8, 8)}; }

PhiloxAttrs philox(const Shape& shape, DType dtype, std::int64_t draw, double p = 0) { return {shape, dtype, draw, p}; }

/// A row of (seed, offset) -> draws. `f(zero, stream, i)` is element i.
template <class F>
OpRow draw_row(Opcode opcode, F f) {
  OpRow row;
  row.opcode = opcode;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    const auto& a = node.as<PhiloxAttrs>();
    require_count(node, inputs, 2, 2);
    require_draw_dtype(node, inputs, a.dtype);
    require_stream(node, inputs, 0);
    return {with_shape(inputs[0], a.shape, a.dtype)};
  };
  row.evaluate = [f](EvalContext& c) {
    const Stream words = stream(c, 0);
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> result(static_cast<std::size_t>(c.out_type().shape.numel()));
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(zero, words.seed, words.first + i);
      c.store<C>(0, result);
    });
  };
  row.cost = cost_per_output(30);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("matrix", stream_inputs(), philox(Shape{3, 5}, DType::float32, 0), false),
                                 op_sample("later", stream_inputs(), philox(Shape{7}, DType::float64, 16), false)};
  };
  return row;
}

OpRow philox_uniform_row() {
  return draw_row(op::philox_uniform, [](auto zero, std::uint64_t seed, std::uint64_t word) {
    const std::uint32_t bits = philox_word(seed, word);
    if constexpr (std::is_same_v<decltype(zero), double>) {
      return uniform_double(bits);
    } else {
      return uniform_float(bits);
    }
  });
}

/// Two words make two numbers: the element that reads word w belongs to the pair (w & ~1, w | 1).
OpRow philox_normal_row() {
  return draw_row(op::philox_normal, [](auto zero, std::uint64_t seed, std::uint64_t word) {
    const math::NormalPair pair = math::normal_pair(philox_word(seed, word & ~std::uint64_t{1}), philox_word(seed, word | 1));
    return static_cast<decltype(zero)>((word & 1) == 0 ? pair.first : pair.second);
  });
}

/// y = keep ? x * (1 / (1 - p)) : 0, keep where the word's uniform number is at least p: the same mask in every dtype.
OpRow philox_dropout_row() {
  OpRow row;
  row.opcode = op::philox_dropout;
  row.traits = Trait::pointwise;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 3, 3);
    require_real(node, inputs);
    require_stream(node, inputs, 1);
    require_probability(node, inputs, node.as<PhiloxAttrs>().p);
    return {inputs[0]};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const auto& a = c.node.as<PhiloxAttrs>();
    return {ops::philox_dropout(c.b, c.gy(), c.in(1), c.in(2), a.p, a.draw), ValueId(), ValueId()};
  };
  row.evaluate = [](EvalContext& c) {
    const Stream words = stream(c, 1);
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      const auto p = static_cast<C>(c.node().as<PhiloxAttrs>().p);
      std::vector<C> x = c.load<C>(0);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = rows::dropout(x[i], philox_word(words.seed, words.first + i), p);
      c.store<C>(0, x);
    });
  };
  row.cost = cost_per_output(32);
  row.samples = [] {
    const auto inputs = [](const Shape& shape) {
      std::vector<SampleInput> list = stream_inputs();
      list.insert(list.begin(), real_input(shape));
      return list;
    };
    return std::vector<OpSample>{op_sample("matrix", inputs(Shape{3, 5}), philox(Shape{}, DType::float32, 4, 0.3)),
                                 op_sample("none", inputs(Shape{9}), philox(Shape{}, DType::float32, 0, 0)),
                                 op_sample("all", inputs(Shape{9}), philox(Shape{}, DType::float32, 0, 1))};
  };
  return row;
}

}  // namespace

std::vector<OpRow> random_rows() {
  return {generator_row(op::uniform), generator_row(op::normal), dropout_row(),
          philox_uniform_row(),       philox_normal_row(),       philox_dropout_row()};
}

}  // namespace reprise
