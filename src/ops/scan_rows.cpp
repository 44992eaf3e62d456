// SPDX-License-Identifier: Apache-2.0
// Rows of scans: cumulative sum and product along a dimension, one chain per row from its first (reverse: last) element.
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/reduction_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

template <template <class> class Op>
void evaluate_scan(EvalContext& c) {
  const auto& a = c.node().as<ScanAttrs>();
  const Shape& shape = c.in_type(0).shape;
  const ReducePlan plan = row_plan(shape, shape.rank() == 0 ? 0 : shape.wrap(a.dim));
  const std::size_t n = plan.steps.size();
  EvalContext::dispatch(c.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> x = c.load<C>(0);
    for (const std::size_t base : plan.bases) {
      C chain = Op<C>::identity();
      for (std::size_t r = 0; r < n; ++r) {
        C& element = x[base + plan.steps[a.reverse ? n - 1 - r : r]];
        chain = r == 0 ? element : Op<C>::combine(chain, element);
        element = chain;
      }
    }
    c.store<C>(0, x);
  });
}

OpRow scan_row(Opcode opcode) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::cheap;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_number(node, inputs);
    scan_dim(node, inputs, node.as<ScanAttrs>().dim);
    return {inputs[0]};
  };
  row.cost = cost_per_input(1);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("last", {real_input(Shape{3, 5}, 0.3, 1.5)}, ScanAttrs{-1, false}),
                                 op_sample("middle_reverse", {real_input(Shape{2, 4, 3}, -1.5, 1.5)}, ScanAttrs{1, true}),
                                 op_sample("one", {real_input(Shape{1})}, ScanAttrs{0, false}),
                                 op_sample("scalar", {real_input(Shape{})}, ScanAttrs{0, false})};
  };
  return row;
}

/// dx[i] = sum over the products y[j] that hold x[i] of gy[j] * (y[j] without x[i]). Every such product is formed, so that
/// zeros need no division; this takes n^2 numbers per row of n.
std::vector<ValueId> product_scan_slope(VjpContext& c) {
  using namespace ops;
  const auto& a = c.node.as<ScanAttrs>();
  const ValueId x = c.in(0);
  const Shape shape = c.b.shape(x);
  const DType dtype = c.b.dtype(x);
  if (shape.rank() == 0) return {c.gy()};
  const std::size_t dim = shape.wrap(a.dim);
  const auto last = static_cast<std::int64_t>(shape.rank()) - 1;
  const auto along = static_cast<std::int64_t>(dim);
  const std::int64_t n = shape[dim];

  const auto rows_of = [&](ValueId value) {  // [..., n] with `dim` last, as [..., 1, n]
    return unsqueeze(c.b, along == last ? value : transpose(c.b, value, along, last), {last});
  };
  const ValueId places = iota(c.b, n);
  const ValueId row = reshape(c.b, places, Shape{n, 1});
  const ValueId one = full(c.b, Shape{}, dtype, 1);
  const ValueId zero = full(c.b, Shape{}, dtype, 0);
  const ValueId without = where(c.b, binary(c.b, op::eq, row, places), one, rows_of(x));  // [..., n, n]: x[i] left out of row i
  const ValueId products = c.b.emit(op::cumprod, {without}, ScanAttrs{-1, a.reverse});
  const ValueId holds = binary(c.b, a.reverse ? op::ge : op::le, row, places);
  const ValueId terms = where(c.b, holds, mul(c.b, products, rows_of(c.gy())), zero);
  const ValueId slope = sum(c.b, terms, Ints{-1}, false);
  return {along == last ? slope : transpose(c.b, slope, along, last)};
}

}  // namespace

std::vector<OpRow> scan_rows() {
  OpRow sum = scan_row(op::cumsum);
  sum.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const auto& a = c.node.as<ScanAttrs>();
    return {ops::cumsum(c.b, c.gy(), a.dim, !a.reverse)};
  };
  sum.evaluate = evaluate_scan<reduction::Add>;
  OpRow product = scan_row(op::cumprod);
  product.vjp = product_scan_slope;
  product.evaluate = evaluate_scan<reduction::Multiply>;
  return {sum, product};
}

}  // namespace reprise
