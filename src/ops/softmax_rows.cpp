// SPDX-License-Identifier: Apache-2.0
// Rows of softmax, log-softmax and log-sum-exp along a dimension, and their derivatives. Formulas: base/row_formulas.h.
#include "base/row_formulas.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/reduction_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

std::size_t dim_of(const Node& node, const Shape& shape) { return shape.rank() == 0 ? 0 : shape.wrap(node.as<DimAttrs>().dim); }

TensorTypes infer_rows(const Node& node, TypeSpan inputs, std::size_t count) {
  require_count(node, inputs, count, count);
  require_one_dtype(node, inputs);
  require_real(node, inputs);
  require_types(inputs[0].shape == inputs[count - 1].shape, node, inputs, "the result and its cotangent must have one shape");
  scan_dim(node, inputs, node.as<DimAttrs>().dim);
  return {inputs[0]};
}

std::vector<OpSample> row_samples(std::size_t inputs, bool differentiable) {
  const auto input = [&](const Shape& shape) { return std::vector<SampleInput>(inputs, real_input(shape)); };
  return {op_sample("last", input(Shape{4, 7}), DimAttrs{-1}, differentiable),
          op_sample("middle", input(Shape{2, 3, 5}), DimAttrs{1}, differentiable),
          op_sample("first", input(Shape{5, 2}), DimAttrs{0}, differentiable),
          op_sample("one", input(Shape{3, 1}), DimAttrs{-1}, differentiable)};
}

OpRow row_op(Opcode opcode, std::size_t inputs, double flops) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::reduction | Trait::composite;
  row.infer = [inputs](const Node& node, TypeSpan types) { return infer_rows(node, types, inputs); };
  row.cost = cost_per_input(flops);
  row.samples = [inputs] { return row_samples(inputs, inputs == 1); };
  return row;
}

/// Evaluates x -> y row by row: `f(n, load, store)`.
template <class F>
void map_rows(EvalContext& c, F&& f) {
  const ReducePlan plan = row_plan(c.in_type(0).shape, dim_of(c.node(), c.in_type(0).shape));
  EvalContext::dispatch_float(c.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = c.load<C>(0);
    const std::vector<C> gy = c.input_count() > 1 ? c.load<C>(1) : std::vector<C>();
    std::vector<C> result(x.size());
    for (const std::size_t base : plan.bases) {
      f(zero, plan.steps.size(), [&, base](std::size_t i) { return x[base + plan.steps[i]]; },
        [&, base](std::size_t i) { return gy[base + plan.steps[i]]; },
        [&, base](std::size_t i, C value) { result[base + plan.steps[i]] = value; });
    }
    c.store<C>(0, result);
  });
}

/// x minus its row's maximum.
ValueId shifted(Builder& b, ValueId x, std::int64_t dim) {
  return ops::sub(b, x, ops::reduce(b, op::amax, x, Ints{dim}, true));
}

void append_softmax(std::vector<OpRow>& rows) {
  using namespace ops;
  OpRow row = row_op(op::softmax, 1, 18);
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    return {softmax_backward(c.b, c.out(), c.gy(), c.node.as<DimAttrs>().dim)};
  };
  row.evaluate = [](EvalContext& c) {
    map_rows(c, [](auto zero, std::size_t n, const auto& x, const auto&, const auto& y) { rows::softmax<decltype(zero)>(n, x, y); });
  };
  row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    const std::int64_t dim = node.as<DimAttrs>().dim;
    const ValueId powers = exp(b, shifted(b, inputs[0], dim));
    return {mul(b, powers, reciprocal(b, sum(b, powers, Ints{dim}, true)))};
  };
  rows.push_back(std::move(row));

  OpRow backward = row_op(op::softmax_backward, 2, 5);
  backward.evaluate = [](EvalContext& c) {
    map_rows(c, [](auto zero, std::size_t n, const auto& y, const auto& gy, const auto& gx) {
      rows::softmax_backward<decltype(zero)>(n, y, gy, gx);
    });
  };
  backward.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    const ValueId dot = sum(b, mul(b, inputs[1], inputs[0]), Ints{node.as<DimAttrs>().dim}, true);
    return {mul(b, inputs[0], sub(b, inputs[1], dot))};
  };
  rows.push_back(std::move(backward));
}

void append_log_softmax(std::vector<OpRow>& rows) {
  using namespace ops;
  OpRow row = row_op(op::log_softmax, 1, 18);
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    return {log_softmax_backward(c.b, c.out(), c.gy(), c.node.as<DimAttrs>().dim)};
  };
  row.evaluate = [](EvalContext& c) {
    map_rows(c, [](auto zero, std::size_t n, const auto& x, const auto&, const auto& y) { rows::log_softmax<decltype(zero)>(n, x, y); });
  };
  row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    const std::int64_t dim = node.as<DimAttrs>().dim;
    const ValueId low = shifted(b, inputs[0], dim);
    return {sub(b, low, log(b, sum(b, exp(b, low), Ints{dim}, true)))};
  };
  rows.push_back(std::move(row));

  OpRow backward = row_op(op::log_softmax_backward, 2, 16);
  backward.evaluate = [](EvalContext& c) {
    map_rows(c, [](auto zero, std::size_t n, const auto& y, const auto& gy, const auto& gx) {
      rows::log_softmax_backward<decltype(zero)>(n, y, gy, gx);
    });
  };
  backward.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    const ValueId total = sum(b, inputs[1], Ints{node.as<DimAttrs>().dim}, true);
    return {sub(b, inputs[1], mul(b, exp(b, inputs[0]), total))};
  };
  rows.push_back(std::move(backward));
}

OpRow logsumexp_row() {
  using namespace ops;
  OpRow row = row_op(op::logsumexp, 1, 16);
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_real(node, inputs);
    const std::size_t dim = checked_dim(node, inputs, 0, node.as<DimAttrs>().dim);
    Shape shape;
    for (std::size_t d = 0; d < inputs[0].shape.rank(); ++d) {
      if (d != dim) shape.append(inputs[0].shape.dim(d));
    }
    return {with_shape(inputs[0], shape)};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const auto dim = static_cast<std::int64_t>(dim_of(c.node, c.b.shape(c.in(0))));
    const ValueId share = exp(c.b, sub(c.b, c.in(0), unsqueeze(c.b, c.out(), {dim})));
    return {mul(c.b, unsqueeze(c.b, c.gy(), {dim}), share)};
  };
  row.evaluate = [](EvalContext& c) {
    const ReducePlan plan = row_plan(c.in_type(0).shape, dim_of(c.node(), c.in_type(0).shape));
    EvalContext::dispatch_float(c.in_type(0).dtype, [&](auto zero) {
      using C = decltype(zero);
      const std::vector<C> x = c.load<C>(0);
      std::vector<C> result;
      for (const std::size_t base : plan.bases) {
        result.push_back(rows::logsumexp<C>(plan.steps.size(), [&](std::size_t i) { return x[base + plan.steps[i]]; }));
      }
      c.store<C>(0, result);
    });
  };
  row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    const std::int64_t dim = node.as<DimAttrs>().dim;
    const ValueId largest = reduce(b, op::amax, inputs[0], Ints{dim}, true);
    const ValueId total = log(b, sum(b, exp(b, sub(b, inputs[0], largest)), Ints{dim}, false));
    return {add(b, total, reshape(b, largest, b.shape(total)))};
  };
  return row;
}

}  // namespace

std::vector<OpRow> softmax_rows() {
  std::vector<OpRow> all;
  append_softmax(all);
  append_log_softmax(all);
  all.push_back(logsumexp_row());
  return all;
}

}  // namespace reprise
