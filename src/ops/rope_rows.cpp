// SPDX-License-Identifier: Apache-2.0
// Rotary embedding of the first n elements of the last dimension, and its transpose.
#include <fmt/format.h>

#include <utility>

#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/rope_layout.h"
#include "ops/row_parts.h"
#include "ops/strided_walk.h"

namespace reprise {
namespace {

TensorTypes infer_rope(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 3, 3);
  require_real(node, inputs);
  const TensorType& x = inputs[0];
  const TensorType& cos = inputs[1];
  require_types(cos == inputs[2], node, inputs, "the tables must have one type");
  require_types(cos.dtype == x.dtype || cos.dtype == statistic_dtype(x.dtype), node, inputs,
                fmt::format("the tables must be {} or the input's dtype", dtype_name(statistic_dtype(x.dtype))));
  require_types(x.shape.rank() >= 1 && cos.shape.rank() >= 1 && cos.shape.rank() <= x.shape.rank(), node, inputs,
                "the tables must have a width, and no more dimensions than the input");
  const std::int64_t n = cos.shape.back();
  require_types(n <= x.shape.back(), node, inputs, fmt::format("the tables are wider than a head: {} and {}", n, x.shape.back()));
  require_types(n % 2 == 0 || node.as<RopeAttrs>().layout == RopeLayout::half, node, inputs,
                fmt::format("pairs of neighbours need an even table width: {}", n));
  const Shape rows = without_last(x.shape);
  const Shape table_rows = without_last(cos.shape);
  bool fits = true;
  for (std::size_t d = 0; d < table_rows.rank(); ++d) {
    const Dim own = table_rows.dim(d);
    fits = fits && (own == rows.dim(rows.rank() - table_rows.rank() + d) || own == Dim{1, {}});
  }
  require_types(fits, node, inputs, "the tables do not broadcast to the input");
  return {x};
}

template <bool kBackward>
void evaluate_rope(EvalContext& context) {
  const Shape& shape = context.in_type(0).shape;
  const Shape& table = context.in_type(1).shape;
  const auto size = static_cast<std::size_t>(shape.back());
  const auto n = static_cast<std::size_t>(table.back());
  const rows::RopeLayout layout = row_layout(context.node().as<RopeAttrs>().layout);
  const std::vector<std::int64_t> table_row = broadcast_offsets(without_last(table), without_last(shape));
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = context.load<C>(0);
    const std::vector<C> cos = context.load<C>(1);
    const std::vector<C> sin = context.load<C>(2);
    std::vector<C> y(x.size());
    for (std::size_t r = 0; r < table_row.size(); ++r) {
      const std::size_t at = static_cast<std::size_t>(table_row[r]) * n;
      const auto load = [&](std::size_t i) { return x[r * size + i]; };
      const auto load_cos = [&](std::size_t i) { return cos[at + i]; };
      const auto load_sin = [&](std::size_t i) { return sin[at + i]; };
      const auto store = [&](std::size_t i, C value) { y[r * size + i] = value; };
      if constexpr (kBackward) {
        rows::rope_backward<C>(layout, n, size, load, load_cos, load_sin, store);
      } else {
        rows::rope<C>(layout, n, size, load, load_cos, load_sin, store);
      }
    }
    context.store<C>(0, y);
  });
}

// ---- decomposition -----------------------------------------------------------------------------------------------

ValueId last(Builder& b, ValueId x, std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return ops::slice(b, x, -1, start, stop, step);
}

/// Pairs of neighbours (2j, 2j + 1) as two arrays of half the width, and back.
ValueId interleave(Builder& b, ValueId even, ValueId odd) {
  const Shape half = b.shape(even);
  Shape whole = without_last(half);
  whole.append(half.back() * 2);
  return ops::reshape(b, ops::stack(b, {even, odd}, -1), whole);
}

std::vector<ValueId> decompose_rope(Builder& b, const Node& node, std::span<const ValueId> inputs, bool backward) {
  const RopeLayout layout = node.as<RopeAttrs>().layout;
  const DType dtype = b.dtype(inputs[0]);
  const DType wide = statistic_dtype(dtype);
  const ValueId all = ops::cast(b, inputs[0], wide);
  const ValueId cos = ops::cast(b, inputs[1], wide);
  const ValueId sin = ops::cast(b, inputs[2], wide);
  const std::int64_t n = b.shape(cos).back();
  const std::int64_t size = b.shape(all).back();
  const std::int64_t h = n / 2;
  const ValueId x = last(b, all, 0, n);
  ValueId y;
  if (layout == RopeLayout::half) {
    // forward: the last n - h elements move to the front, negated, times the sine; backward: the sine first, then the way back
    if (backward) {
      const ValueId g = ops::mul(b, x, sin);
      const ValueId moved = ops::cat(b, {last(b, g, n - h, n), ops::neg(b, last(b, g, 0, n - h))}, -1);
      y = ops::add(b, ops::mul(b, x, cos), moved);
    } else {
      const ValueId moved = ops::cat(b, {ops::neg(b, last(b, x, h, n)), last(b, x, 0, h)}, -1);
      y = ops::add(b, ops::mul(b, x, cos), ops::mul(b, moved, sin));
    }
  } else {
    const bool gathered_input = backward && layout == RopeLayout::gathered;
    const bool gathered_output = !backward && layout == RopeLayout::gathered;
    const ValueId even = gathered_input ? last(b, x, 0, h) : last(b, x, 0, n, 2);
    const ValueId odd = gathered_input ? last(b, x, h, n) : last(b, x, 1, n, 2);
    const ValueId c = last(b, cos, 0, h);
    const ValueId s = last(b, sin, 0, h);
    const ValueId even_sin = ops::mul(b, even, s);
    const ValueId odd_sin = ops::mul(b, odd, s);
    const ValueId first = ops::binary(b, backward ? op::add : op::sub, ops::mul(b, even, c), odd_sin);
    const ValueId second = ops::binary(b, backward ? op::sub : op::add, ops::mul(b, odd, c), even_sin);
    y = gathered_output ? ops::cat(b, {first, second}, -1) : interleave(b, first, second);
  }
  if (n < size) y = ops::cat(b, {y, last(b, all, n, size)}, -1);
  return {ops::cast(b, y, dtype)};
}

// ---- derivative --------------------------------------------------------------------------------------------------

struct TableGradients {
  ValueId cos, sin;
};

/// Cotangents of the tables, before their broadcast is undone, in the width of the tables.
TableGradients table_gradients(Builder& b, RopeLayout layout, ValueId x, ValueId g, std::int64_t n, bool backward) {
  const std::int64_t h = n / 2;
  if (layout == RopeLayout::half) {
    const ValueId turned = backward ? g : x;
    const ValueId moved = ops::cat(b, {ops::neg(b, last(b, turned, h, n)), last(b, turned, 0, h)}, -1);
    return {ops::mul(b, g, x), ops::mul(b, moved, backward ? x : g)};
  }
  const auto pairs = [&](ValueId value, bool gathered) {
    return gathered ? std::pair(last(b, value, 0, h), last(b, value, h, n)) : std::pair(last(b, value, 0, n, 2), last(b, value, 1, n, 2));
  };
  const bool gathered = layout == RopeLayout::gathered;
  const auto [even, odd] = pairs(x, gathered && backward);
  const auto [first, second] = pairs(g, gathered && !backward);
  const ValueId cos = ops::add(b, ops::mul(b, first, even), ops::mul(b, second, odd));
  const ValueId turn = ops::sub(b, ops::mul(b, second, even), ops::mul(b, first, odd));
  // the second half of the tables is not read
  Ints before(b.shape(cos).rank(), 0);
  Ints after = before;
  after.back() = n - h;
  return {ops::pad(b, cos, before, after), ops::pad(b, backward ? ops::neg(b, turn) : turn, before, after)};
}

std::vector<ValueId> rope_vjp(VjpContext& c, Opcode transpose, bool backward) {
  std::vector<ValueId> gradients(3);
  if (!c.gy().valid()) return gradients;
  Builder& b = c.b;
  if (c.needs[0]) gradients[0] = b.emit(transpose, {c.gy(), c.in(1), c.in(2)}, c.node.attrs);
  if (c.needs[1] || c.needs[2]) {
    const TensorType table = b.type(c.in(1));
    const std::int64_t n = table.shape.back();
    const DType wide = statistic_dtype(b.dtype(c.in(0)));
    const auto turning = [&](ValueId value) { return ops::cast(b, last(b, value, 0, n), wide); };
    const TableGradients g = table_gradients(b, c.node.as<RopeAttrs>().layout, turning(c.in(0)), turning(c.gy()), n, backward);
    const auto fit = [&](ValueId value) { return ops::cast(b, ops::sum_to(b, value, table.shape), table.dtype); };
    if (c.needs[1]) gradients[1] = fit(g.cos);
    if (c.needs[2]) gradients[2] = fit(g.sin);
  }
  return gradients;
}

// ---- samples -----------------------------------------------------------------------------------------------------

std::vector<OpSample> rope_samples() {
  const auto make = [](std::string name, Shape x, Shape table, RopeLayout layout, DType dtype = DType::float32) {
    const SampleInput head{TensorType{dtype, x, Device::cpu}, -2, 2};
    return op_sample(std::move(name), {head, real_input(table, -1, 1), real_input(table, -1, 1)}, RopeAttrs{layout},
                     dtype == DType::float32);
  };
  return {make("half", {2, 2, 3, 6}, {3, 6}, RopeLayout::half),
          make("odd", {2, 3, 5}, {3, 3}, RopeLayout::half),
          make("partial", {2, 2, 3, 7}, {3, 4}, RopeLayout::half),
          make("interleaved", {2, 3, 6}, {3, 6}, RopeLayout::interleaved),
          make("interleaved_partial", {2, 3, 6}, {3, 4}, RopeLayout::interleaved),
          make("gathered", {2, 3, 6}, {3, 6}, RopeLayout::gathered),
          make("gathered_partial", {2, 3, 7}, {2, 1, 4}, RopeLayout::gathered),
          make("nothing_turns", {3, 4}, {3, 0}, RopeLayout::half),
          make("bfloat16", {2, 3, 6}, {3, 6}, RopeLayout::half, DType::bfloat16)};
}

OpRow rope_row(Opcode opcode, Opcode transpose, bool backward) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::composite | Trait::cheap;
  row.infer = infer_rope;
  row.vjp = [transpose, backward](VjpContext& c) { return rope_vjp(c, transpose, backward); };
  row.decompose = [backward](Builder& b, const Node& node, std::span<const ValueId> inputs) {
    return decompose_rope(b, node, inputs, backward);
  };
  row.evaluate = backward ? evaluate_rope<true> : evaluate_rope<false>;
  row.cost = cost_per_input(3);
  row.samples = rope_samples;
  return row;
}

}  // namespace

std::vector<OpRow> rope_rows() { return {rope_row(op::rope, op::rope_backward, false), rope_row(op::rope_backward, op::rope, true)}; }

}  // namespace reprise
