// SPDX-License-Identifier: Apache-2.0
// Windows: views that may read elements more than once (diagonals, unfolded and strided windows), what adds their gradients up,
// and what writes into one.
#include <fmt/format.h>

#include <algorithm>

#include "ops/builders.h"
#include "ops/moving_parts.h"
#include "ops/row_families.h"
#include "ops/view_parts.h"

namespace reprise {
namespace {

// ---- diagonal, unfold --------------------------------------------------------------------------------------------

TensorTypes infer_diagonal(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const Shape& from = inputs[0].shape;
  require_types(from.rank() >= 2, node, inputs, "needs two dimensions at least");
  const std::int64_t offset = node.as<DiagonalAttrs>().offset;
  const std::int64_t rows = from[from.rank() - 2] + std::min<std::int64_t>(offset, 0);
  const std::int64_t columns = from[from.rank() - 1] - std::max<std::int64_t>(offset, 0);
  Shape shape = without_last(from, 2);
  shape.append(std::max<std::int64_t>(0, std::min(rows, columns)));
  return {with_shape(inputs[0], shape)};
}

std::optional<Layout> layout_diagonal(const Node& node, const TensorType& input, const Layout& layout) {
  const std::int64_t offset = node.as<DiagonalAttrs>().offset;
  const std::size_t rank = input.shape.rank();
  const std::int64_t row = layout.strides[rank - 2];
  const std::int64_t column = layout.strides[rank - 1];
  Layout result{layout.offset, {layout.strides.begin(), layout.strides.end() - 2}};
  result.strides.push_back(row + column);
  const bool inside = offset >= 0 ? offset < input.shape[rank - 1] : -offset < input.shape[rank - 2];
  if (inside) result.offset += offset >= 0 ? offset * column : -offset * row;
  return result;
}

TensorTypes infer_unfold(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const auto& attrs = node.as<UnfoldAttrs>();
  const std::size_t dim = checked_dim(node, inputs, 0, attrs.dim);
  const std::int64_t extent = inputs[0].shape[dim];
  require_types(attrs.size >= 1 && attrs.size <= extent && attrs.step >= 1, node, inputs,
                fmt::format("needs 1 <= size <= {} and step >= 1, not size {} and step {}", extent, attrs.size, attrs.step));
  Shape shape = inputs[0].shape;
  shape.set_dim(dim, Dim{(extent - attrs.size) / attrs.step + 1, {}});
  require_types(shape.rank() < Shape::kMaxRank, node, inputs,
                fmt::format("the result would have more than {} dimensions", Shape::kMaxRank));
  shape.append(attrs.size);
  return {with_shape(inputs[0], shape)};
}

std::optional<Layout> layout_unfold(const Node& node, const TensorType& input, const Layout& layout) {
  const auto& attrs = node.as<UnfoldAttrs>();
  const std::size_t dim = input.shape.wrap(attrs.dim);
  Layout result = layout;
  result.strides[dim] *= attrs.step;
  result.strides.push_back(layout.strides[dim]);
  return result;
}

// ---- as_strided --------------------------------------------------------------------------------------------------

TensorTypes infer_as_strided(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const auto& attrs = node.as<StridedAttrs>();
  require_window(node, inputs, attrs, inputs[0].shape);
  return {with_shape(inputs[0], attrs.shape)};
}

std::optional<Layout> layout_as_strided(const Node& node, const TensorType& input, const Layout& layout) {
  const std::vector<std::int64_t> dense = input.shape.dense_strides();
  for (std::size_t d = 0; d < dense.size(); ++d) {
    if (input.shape[d] > 1 && layout.strides[d] != dense[d]) return std::nullopt;
  }
  const auto& attrs = node.as<StridedAttrs>();
  return Layout{layout.offset + (attrs.shape.numel() == 0 ? 0 : attrs.offset), attrs.strides};
}

/// The cotangent of a view that reads a strided window of its dense input, elements perhaps more than once.
std::vector<ValueId> window_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId()};
  const TensorType input = c.b.type(c.in(0));
  const auto layout = op_row(c.node.opcode).layout(c.node, input, {0, input.shape.dense_strides()});
  REPRISE_CHECK(layout.has_value(), "a window of a dense value must have a layout");
  return {c.b.emit(op::as_strided_backward, {c.gy()}, StridedAttrs{c.b.shape(c.gy()), layout->strides, layout->offset, input.shape})};
}

// ---- as_strided_scatter, as_strided_backward ---------------------------------------------------------------------

TensorTypes infer_strided_scatter(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 2, 2);
  require_types(inputs[0].dtype == inputs[1].dtype, node, inputs, "base and source must have one dtype");
  const auto& attrs = node.as<StridedAttrs>();
  require_types(inputs[1].shape == attrs.shape, node, inputs, fmt::format("the source must have the shape {}", attrs.shape.str()));
  require_window(node, inputs, attrs, inputs[0].shape);
  return {inputs[0]};
}

std::vector<ValueId> strided_scatter_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId(), ValueId()};
  const auto attrs = c.node.as<StridedAttrs>();
  ValueId base;
  ValueId source;
  if (c.needs[0]) {
    base = ops::as_strided_scatter(c.b, c.gy(), ops::zeros_like(c.b, c.in(1)), attrs.shape, attrs.strides, attrs.offset);
  }
  if (c.needs[1]) source = ops::as_strided(c.b, c.gy(), attrs.shape, attrs.strides, attrs.offset);
  return {base, source};
}

void evaluate_strided_scatter(EvalContext& context) {
  const auto& attrs = context.node().as<StridedAttrs>();
  context.copy_first_input();
  copy_elements_into(context.out().data, offsets_of(attrs.shape, {attrs.offset, attrs.strides}), context.in(1).data, element_size(context));
}

TensorTypes infer_strided_backward(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const auto& attrs = node.as<StridedAttrs>();
  require_types(inputs[0].shape == attrs.shape, node, inputs, fmt::format("the window must have the shape {}", attrs.shape.str()));
  require_window(node, inputs, attrs, attrs.base);
  return {with_shape(inputs[0], attrs.base)};
}

/// Adds the window's elements in row-major order onto zeros.
void evaluate_strided_backward(EvalContext& context) {
  const auto& attrs = context.node().as<StridedAttrs>();
  EvalContext::dispatch(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> g = context.load<C>(0);
    std::vector<C> sums(static_cast<std::size_t>(attrs.base.numel()), C(0));
    std::size_t i = 0;
    walk_offsets(attrs.shape, {attrs.offset, attrs.strides},
                 [&](std::int64_t offset) { sums[static_cast<std::size_t>(offset)] += g[i++]; });
    context.store<C>(0, sums);
  });
}

std::vector<ValueId> strided_backward_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId()};
  const auto attrs = c.node.as<StridedAttrs>();
  return {ops::as_strided(c.b, c.gy(), attrs.shape, attrs.strides, attrs.offset)};
}

Cost strided_backward_cost(const Node&, TypeSpan inputs, TypeSpan outputs) {
  return streaming_cost(inputs, outputs, static_cast<double>(inputs[0].shape.numel()));
}

}  // namespace

std::vector<OpRow> window_rows() {
  std::vector<OpRow> rows;
  rows.push_back(view_row(op::diagonal, infer_diagonal, window_vjp, layout_diagonal, [] {
    return std::vector<OpSample>{view_sample("main", {3, 4}, DiagonalAttrs{0}), view_sample("above", {2, 3, 4}, DiagonalAttrs{1}),
                                 view_sample("below", {4, 3}, DiagonalAttrs{-2}), view_sample("outside", {2, 3}, DiagonalAttrs{5})};
  }));
  rows.push_back(view_row(op::unfold, infer_unfold, window_vjp, layout_unfold, [] {
    return std::vector<OpSample>{view_sample("overlapping", {2, 7}, UnfoldAttrs{-1, 3, 2}),
                                 view_sample("rows", {5, 2}, UnfoldAttrs{0, 2, 3})};
  }));
  rows.push_back(view_row(op::as_strided, infer_as_strided, window_vjp, layout_as_strided, [] {
    return std::vector<OpSample>{view_sample("window", {4, 5}, StridedAttrs{{2, 3}, {5, 1}, 6, {}}),
                                 view_sample("overlapping", {12}, StridedAttrs{{4, 3}, {2, 1}, 1, {}})};
  }));
  rows.push_back(moving_row(
      op::as_strided_scatter, Trait::cheap | Trait::in_place_twin, infer_strided_scatter, strided_scatter_vjp, evaluate_strided_scatter,
      [] {
        return std::vector<OpSample>{moving_sample("window", {{4, 5}, {2, 3}}, StridedAttrs{{2, 3}, {5, 1}, 6, {}}),
                                     moving_sample("column", {{4, 5}, {4}}, StridedAttrs{{4}, {5}, 2, {}})};
      }));
  OpRow backward =
      moving_row(op::as_strided_backward, Trait::cheap, infer_strided_backward, strided_backward_vjp, evaluate_strided_backward, [] {
        return std::vector<OpSample>{moving_sample("window", {{2, 3}}, StridedAttrs{{2, 3}, {5, 1}, 6, {4, 5}}),
                                     moving_sample("overlapping", {{4, 3}}, StridedAttrs{{4, 3}, {2, 1}, 1, {12}})};
      });
  backward.cost = strided_backward_cost;
  rows.push_back(std::move(backward));
  return rows;
}

}  // namespace reprise
