// SPDX-License-Identifier: Apache-2.0
// Rows of ordering: the places of largest elements, top-k, stable sort, counts. NaN counts as largest; of equal elements
// the first comes first.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/reduction_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

/// a < b in an order of all numbers that has NaN last.
template <class C>
bool below(C a, C b) {
  return a < b || (b != b && a == a);
}

Shape with_extent(const Shape& shape, std::size_t dim, std::int64_t extent) {
  Shape result = shape;
  if (shape.rank() != 0) result.set_dim(dim, Dim{extent, {}});
  return result;
}

Shape without_dim(const Shape& shape, std::size_t dim, bool keepdim) {
  if (keepdim) return with_extent(shape, dim, 1);
  Shape result;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d != dim) result.append(shape.dim(d));
  }
  return result;
}

std::size_t dim_in(const Shape& shape, std::int64_t dim) { return shape.rank() == 0 ? 0 : shape.wrap(dim); }

/// Routes the cotangent of the values back to the places they came from.
ValueId scattered(VjpContext& c, std::int64_t dim, ValueId index, ValueId gy) {
  if (c.b.shape(c.in(0)).rank() == 0) return gy;
  return ops::scatter_add(c.b, ops::zeros_like(c.b, c.in(0)), dim, index, gy);
}

// ---- argmax, argmin, max_dim ----------------------------------------------------------------------------------------

Shape infer_arg(const Node& node, TypeSpan inputs) {
  const auto& a = node.as<ArgAttrs>();
  require_count(node, inputs, 1, 1);
  require_number(node, inputs);
  const std::size_t dim = scan_dim(node, inputs, a.dim);
  const Shape& shape = inputs[0].shape;
  const Shape result = without_dim(shape, dim, a.keepdim);
  require_types(shape.rank() == 0 || shape[dim] != 0 || result.numel() == 0, node, inputs, "has no value over no elements");
  return result;
}

/// Writes the index of each row's first extreme element as output `index_output`, and the element as output 0 where
/// that is another. `better(a, b)`: a comes before b.
template <class Better>
void evaluate_arg(EvalContext& c, std::size_t index_output, Better better) {
  const Shape& shape = c.in_type(0).shape;
  const ReducePlan plan = row_plan(shape, dim_in(shape, c.node().as<ArgAttrs>().dim));
  EvalContext::dispatch(c.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = c.load<C>(0);
    std::vector<std::int64_t> indices;
    std::vector<C> values;
    for (const std::size_t base : plan.bases) {
      std::size_t best = 0;
      for (std::size_t r = 1; r < plan.steps.size(); ++r) {
        if (better(x[base + plan.steps[r]], x[base + plan.steps[best]])) best = r;
      }
      indices.push_back(static_cast<std::int64_t>(best));
      values.push_back(x[base + plan.steps[best]]);
    }
    c.store<std::int64_t>(index_output, indices);
    if (index_output != 0) c.store<C>(0, values);
  });
}

constexpr auto kLarger = [](auto a, auto b) { return below(b, a); };
constexpr auto kSmaller = [](auto a, auto b) { return (a != a && b == b) || a < b; };  // for argmin NaN is smallest

std::vector<OpSample> arg_samples(bool differentiable) {
  return {op_sample("last", {real_input(Shape{4, 7})}, ArgAttrs{-1, false}, differentiable),
          op_sample("first_keep", {real_input(Shape{4, 3})}, ArgAttrs{0, true}, differentiable),
          op_sample("scalar", {real_input(Shape{})}, ArgAttrs{-1, false}, differentiable)};
}

template <class Better>
OpRow arg_row(Opcode opcode, Better better) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::reduction | Trait::cheap;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    return {with_shape(inputs[0], infer_arg(node, inputs), DType::int64)};
  };
  row.evaluate = [better](EvalContext& c) { evaluate_arg(c, 0, better); };
  row.cost = cost_per_input(1);
  row.samples = [] { return arg_samples(false); };
  return row;
}

OpRow max_dim_row() {
  OpRow row = arg_row(op::max_dim, kLarger);
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    const Shape shape = infer_arg(node, inputs);
    return {with_shape(inputs[0], shape), with_shape(inputs[0], shape, DType::int64)};
  };
  // The first of equal elements takes all.
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const auto& a = c.node.as<ArgAttrs>();
    const Shape& shape = c.b.shape(c.in(0));
    const Shape kept = without_dim(shape, dim_in(shape, a.dim), true);
    return {scattered(c, a.dim, ops::reshape(c.b, c.out(1), kept), ops::reshape(c.b, c.gy(), kept))};
  };
  row.evaluate = [](EvalContext& c) { evaluate_arg(c, 1, kLarger); };
  row.samples = [] { return arg_samples(true); };
  return row;
}

// ---- topk, sort -------------------------------------------------------------------------------------------------------

/// The first `count` places of each row in order, and the values there.
void evaluate_order(EvalContext& c, std::int64_t dim, std::size_t count, bool descending) {
  const Shape& shape = c.in_type(0).shape;
  const ReducePlan from = row_plan(shape, dim_in(shape, dim));
  const ReducePlan to = row_plan(c.out_type().shape, dim_in(shape, dim));
  EvalContext::dispatch(c.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = c.load<C>(0);
    std::vector<C> values(static_cast<std::size_t>(c.out_type().shape.numel()));
    std::vector<std::int64_t> indices(values.size());
    std::vector<std::size_t> order(from.steps.size());
    for (std::size_t row = 0; row < from.bases.size(); ++row) {
      const auto element = [&](std::size_t r) { return x[from.bases[row] + from.steps[r]]; };
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return descending ? below(element(b), element(a)) : below(element(a), element(b));
      });
      for (std::size_t k = 0; k < count; ++k) {
        values[to.bases[row] + to.steps[k]] = element(order[k]);
        indices[to.bases[row] + to.steps[k]] = static_cast<std::int64_t>(order[k]);
      }
    }
    c.store<C>(0, values);
    c.store<std::int64_t>(1, indices);
  });
}

OpRow topk_row() {
  OpRow row;
  row.opcode = op::topk;
  row.traits = Trait::never_recompute;  // routing: a choice is made once
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    const auto& a = node.as<TopkAttrs>();
    require_count(node, inputs, 1, 1);
    require_number(node, inputs);
    const std::size_t dim = scan_dim(node, inputs, a.dim);
    const Shape& shape = inputs[0].shape;
    const std::int64_t extent = shape.rank() == 0 ? 1 : shape[dim];
    require_types(a.k >= 0 && a.k <= extent && (shape.rank() != 0 || a.k == 1), node, inputs,
                  fmt::format("k must be at most the extent {}: {}", extent, a.k));
    const Shape result = with_extent(shape, dim, a.k);
    return {with_shape(inputs[0], result), with_shape(inputs[0], result, DType::int64)};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {scattered(c, c.node.as<TopkAttrs>().dim, c.out(1), c.gy())}; };
  row.evaluate = [](EvalContext& c) {
    const auto& a = c.node().as<TopkAttrs>();
    evaluate_order(c, a.dim, static_cast<std::size_t>(a.k), a.largest);
  };
  row.cost = cost_per_input(8);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("last", {real_input(Shape{4, 7})}, TopkAttrs{-1, 3, true}),
                                 op_sample("smallest", {real_input(Shape{4, 7})}, TopkAttrs{-1, 2, false}),
                                 op_sample("first", {real_input(Shape{4, 3})}, TopkAttrs{0, 2, true}),
                                 op_sample("none", {real_input(Shape{4, 3})}, TopkAttrs{0, 0, true})};
  };
  return row;
}

OpRow sort_row() {
  OpRow row;
  row.opcode = op::sort;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_number(node, inputs);
    scan_dim(node, inputs, node.as<SortAttrs>().dim);
    return {inputs[0], with_shape(inputs[0], inputs[0].shape, DType::int64)};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {scattered(c, c.node.as<SortAttrs>().dim, c.out(1), c.gy())}; };
  row.evaluate = [](EvalContext& c) {
    const auto& a = c.node().as<SortAttrs>();
    const Shape& shape = c.in_type(0).shape;
    evaluate_order(c, a.dim, static_cast<std::size_t>(shape.rank() == 0 ? 1 : shape[shape.wrap(a.dim)]), a.descending);
  };
  row.cost = cost_per_input(12);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("ascending", {real_input(Shape{4, 7})}, SortAttrs{-1, false}),
                                 op_sample("descending_first", {real_input(Shape{5, 3})}, SortAttrs{0, true}),
                                 op_sample("integers", {integer_input(Shape{9}, 0, 4)}, SortAttrs{-1, false}, false)};
  };
  return row;
}

OpRow bincount_row() {
  OpRow row;
  row.opcode = op::bincount;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_index(node, inputs, 0);
    const std::int64_t size = node.as<SizeAttrs>().size;
    require_types(size >= 0, node, inputs, fmt::format("a size cannot be negative: {}", size));
    return {with_shape(inputs[0], Shape{size}, DType::int64)};
  };
  row.evaluate = [](EvalContext& c) {
    const std::int64_t size = c.node().as<SizeAttrs>().size;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(size));
    for (const std::int64_t x : c.load<std::int64_t>(0)) {
      if (x < 0 || x >= size) throw UserError(fmt::format("bincount: a value is outside [0, {}): {}", size, x));
      ++counts[static_cast<std::size_t>(x)];
    }
    c.store<std::int64_t>(0, counts);
  };
  row.cost = cost_per_input(1);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("experts", {integer_input(Shape{3, 5}, 0, 3)}, SizeAttrs{6}, false),
                                 op_sample("empty", {integer_input(Shape{0}, 0, 3)}, SizeAttrs{4}, false)};
  };
  return row;
}

}  // namespace

std::vector<OpRow> order_rows() {
  return {arg_row(op::argmax, kLarger), arg_row(op::argmin, kSmaller), max_dim_row(), topk_row(), sort_row(), bincount_row()};
}

}  // namespace reprise
