// SPDX-License-Identifier: Apache-2.0
// Rows of constants, conversion and copies.
#include <fmt/format.h>

#include <limits>

#include "ops/builders.h"
#include "ops/row_families.h"
#include "ops/pointwise_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

OpRow full_row() {
  OpRow row;
  row.opcode = op::full;
  row.traits = Trait::cheap;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 0, 0);
    const auto& a = node.as<FullAttrs>();
    return {{a.dtype, a.shape, Device::cpu}};
  };
  row.evaluate = [](EvalContext& c) {
    const auto& a = c.node().as<FullAttrs>();
    EvalContext::dispatch(a.dtype, [&](auto zero) {
      using C = decltype(zero);
      const C value = a.dtype == DType::boolean ? static_cast<C>(a.value != 0) : static_cast<C>(a.value);
      c.store<C>(0, std::vector<C>(static_cast<std::size_t>(a.shape.numel()), value));
    });
  };
  row.cost = cost_per_output(0);
  row.samples = [] {
    return std::vector<OpSample>{
        op_sample("matrix", {}, FullAttrs{Shape{2, 3}, DType::float32, 1.5}, false),
        op_sample("scalar", {}, FullAttrs{Shape{}, DType::float64, -0.25}, false),
        op_sample("integers", {}, FullAttrs{Shape{4}, DType::int64, 7}, false),
        op_sample("empty", {}, FullAttrs{Shape{0, 3}, DType::float32, 1}, false),
    };
  };
  return row;
}

OpRow iota_row() {
  OpRow row;
  row.opcode = op::iota;
  row.traits = Trait::cheap;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 0, 0);
    const auto& a = node.as<IotaAttrs>();
    require_types(a.dtype != DType::boolean, node, inputs, "counts numbers, not bool");
    require_types(a.size >= 0, node, inputs, fmt::format("a size cannot be negative: {}", a.size));
    return {{a.dtype, Shape{a.size}, Device::cpu}};
  };
  row.evaluate = [](EvalContext& c) {
    const auto& a = c.node().as<IotaAttrs>();
    EvalContext::dispatch(a.dtype, [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> values(static_cast<std::size_t>(a.size));
      for (std::int64_t i = 0; i < a.size; ++i) values[static_cast<std::size_t>(i)] = static_cast<C>(a.start + i * a.step);
      c.store<C>(0, values);
    });
  };
  row.cost = cost_per_output(1);
  row.samples = [] {
    return std::vector<OpSample>{
        op_sample("positions", {}, IotaAttrs{5, 0, 1, DType::int64}, false),
        op_sample("down", {}, IotaAttrs{4, 9, -2, DType::int32}, false),
        op_sample("real", {}, IotaAttrs{3, 1, 1, DType::float32}, false),
    };
  };
  return row;
}

/// Towards zero; NaN gives 0, what does not fit the nearest that does.
template <class C>
std::int64_t truncated(C x) {
  if (x != x) return 0;
  if (x >= static_cast<C>(0x1p63)) return std::numeric_limits<std::int64_t>::max();
  if (x < static_cast<C>(-0x1p63)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(x);
}

OpRow cast_row() {
  OpRow row;
  row.opcode = op::cast;
  row.traits = Trait::pointwise | Trait::cheap;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    return {with_shape(inputs[0], inputs[0].shape, node.as<CastAttrs>().dtype)};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const DType from = c.b.dtype(c.in(0));
    if (!is_floating(from) || !is_floating(c.b.dtype(c.out()))) return {ValueId()};
    return {ops::cast(c.b, c.gy(), from)};
  };
  row.evaluate = [](EvalContext& c) {
    const DType to = c.out_type().dtype;
    EvalContext::dispatch(c.in_type(0).dtype, [&](auto zero) {
      using C = decltype(zero);
      const std::vector<C> x = c.load<C>(0);
      if (to != DType::int32 && to != DType::int64) return c.store<C>(0, x);
      std::vector<std::int64_t> whole(x.size());
      for (std::size_t k = 0; k < x.size(); ++k) {
        if constexpr (std::is_same_v<C, std::int64_t>) {
          whole[k] = x[k];
        } else {
          whole[k] = truncated(x[k]);
        }
      }
      c.store<std::int64_t>(0, whole);
    });
  };
  row.cost = cost_per_output(1);
  row.samples = [] {
    return std::vector<OpSample>{
        op_sample("to_bfloat16", {real_input(Shape{3, 5})}, CastAttrs{DType::bfloat16}, false),
        op_sample("to_float64", {real_input(Shape{7})}, CastAttrs{DType::float64}),
        op_sample("to_float16", {real_input(Shape{7})}, CastAttrs{DType::float16}, false),
        op_sample("to_int64", {real_input(Shape{4}, -5, 5)}, CastAttrs{DType::int64}, false),
        op_sample("from_int64", {integer_input(Shape{4}, -5, 5)}, CastAttrs{DType::float32}, false),
        op_sample("to_bool", {integer_input(Shape{4}, 0, 1)}, CastAttrs{DType::boolean}, false),
    };
  };
  return row;
}

OpRow copy_row() {
  OpRow row;
  row.opcode = op::copy;
  row.traits = Trait::pointwise | Trait::cheap | Trait::in_place_twin;
  // copy(x) is a dense copy; copy_(target, source) writes `source`, broadcast, into target's storage.
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    const std::size_t count = node.in_place ? 2 : 1;
    require_count(node, inputs, count, count);
    if (!node.in_place) return {inputs[0]};
    require_one_dtype(node, inputs);
    require_types(broadcast_inputs(node, inputs) == inputs[0].shape, node, inputs, "the source must broadcast to the target's shape");
    return {inputs[0]};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {c.gy()}; };
  row.evaluate = [](EvalContext& c) {
    const std::size_t source = c.node().in_place ? 1 : 0;
    const std::size_t size = dtype_size(c.out_type().dtype);
    const std::vector<std::int64_t> offsets = broadcast_offsets(c.in_type(source).shape, c.out_type().shape);
    copy_elements(c.out().data, c.in(source).data, offsets, size);
  };
  row.cost = cost_per_output(0);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("matrix", {real_input(Shape{3, 4})}), op_sample("scalar", {real_input(Shape{})})};
  };
  return row;
}

}  // namespace

std::vector<OpRow> constant_rows() { return {full_row(), iota_row(), cast_row(), copy_row()}; }

}  // namespace reprise
