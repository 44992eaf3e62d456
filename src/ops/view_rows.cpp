// SPDX-License-Identifier: Apache-2.0
// Views: ops whose output may share its input's storage, each element read once or along a broadcast.
#include <fmt/format.h>

#include <algorithm>

#include "ops/builders.h"
#include "ops/row_families.h"
#include "ops/view_parts.h"

namespace reprise {
namespace {

// ---- reshape -----------------------------------------------------------------------------------------------------

TensorTypes infer_reshape(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const Shape& shape = node.as<ShapeAttrs>().shape;
  require_types(shape.numel() == inputs[0].shape.numel(), node, inputs, fmt::format("the element counts differ from {}", shape.str()));
  return {with_shape(inputs[0], shape)};
}

/// Merges neighbouring dimensions whose strides allow it, then cuts the merged runs into the new extents.
std::optional<Layout> layout_reshape(const Node& node, const TensorType& input, const Layout& layout) {
  const Shape& from = input.shape;
  const Shape& to = node.as<ShapeAttrs>().shape;
  if (from.numel() == 0) return Layout{layout.offset, to.dense_strides()};
  Layout result{layout.offset, std::vector<std::int64_t>(to.rank(), 1)};
  std::size_t next = to.rank();  // new dimensions [next, rank) have their strides
  std::int64_t run = 1;          // elements in the run of mergeable old dimensions
  std::int64_t run_stride = 1;
  bool open = false;
  const auto close = [&] {
    std::int64_t stride = run_stride;
    std::int64_t left = run;
    while (next > 0 && (left > 1 || to[next - 1] == 1)) {
      const std::int64_t extent = to[next - 1];
      if (left % extent != 0) return false;
      result.strides[--next] = stride;
      stride *= extent;
      left /= extent;
    }
    return left == 1;
  };
  for (std::size_t d = from.rank(); d-- > 0;) {
    if (from[d] == 1) continue;
    if (open && layout.strides[d] == run_stride * run) {
      run *= from[d];
      continue;
    }
    if (open && !close()) return std::nullopt;
    open = true;
    run = from[d];
    run_stride = layout.strides[d];
  }
  if (!close()) return std::nullopt;
  return result;
}

// ---- expand ------------------------------------------------------------------------------------------------------

TensorTypes infer_expand(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const Shape& from = inputs[0].shape;
  const Shape& to = node.as<ShapeAttrs>().shape;
  bool fits = from.rank() <= to.rank();
  for (std::size_t d = 0; fits && d < from.rank(); ++d) {
    const std::size_t at = to.rank() - from.rank() + d;
    fits = from.dim(d) == to.dim(at) || (from[d] == 1 && !from.dim(d).bounded());
  }
  require_types(fits, node, inputs, fmt::format("only extents of 1 can be expanded, to {}", to.str()));
  return {with_shape(inputs[0], to)};
}

std::optional<Layout> layout_expand(const Node& node, const TensorType& input, const Layout& layout) {
  const Shape& to = node.as<ShapeAttrs>().shape;
  const std::size_t lead = to.rank() - input.shape.rank();
  Layout result{layout.offset, std::vector<std::int64_t>(to.rank(), 0)};
  for (std::size_t d = 0; d < input.shape.rank(); ++d) {
    if (input.shape[d] == to[lead + d]) result.strides[lead + d] = layout.strides[d];
  }
  return result;
}

// ---- permute -----------------------------------------------------------------------------------------------------

std::vector<std::size_t> permutation(const Node& node, TypeSpan inputs) {
  const Ints& dims = node.as<DimsAttrs>().dims;
  const std::size_t rank = inputs[0].shape.rank();
  std::vector<std::size_t> order;
  std::vector<bool> seen(rank, false);
  bool fits = dims.size() == rank;
  for (std::size_t i = 0; fits && i < rank; ++i) {
    order.push_back(checked_dim(node, inputs, 0, dims[i]));
    fits = !seen[order[i]];
    seen[order[i]] = true;
  }
  require_types(fits, node, inputs, "the order must name every dimension once");
  return order;
}

TensorTypes infer_permute(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  Shape shape;
  for (const std::size_t d : permutation(node, inputs)) shape.append(inputs[0].shape.dim(d));
  return {with_shape(inputs[0], shape)};
}

std::optional<Layout> layout_permute(const Node& node, const TensorType& input, const Layout& layout) {
  Layout result{layout.offset, {}};
  for (const std::size_t d : permutation(node, {&input, 1})) result.strides.push_back(layout.strides[d]);
  return result;
}

std::vector<ValueId> permute_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId()};
  const TensorType type = c.b.type(c.in(0));
  const std::vector<std::size_t> order = permutation(c.node, {&type, 1});
  Ints inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<std::int64_t>(i);
  return {ops::permute(c.b, c.gy(), std::move(inverse))};
}

// ---- slice -------------------------------------------------------------------------------------------------------

TensorTypes infer_slice(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const auto& attrs = node.as<SliceAttrs>();
  const std::size_t dim = checked_dim(node, inputs, 0, attrs.dim);
  const std::int64_t extent = inputs[0].shape[dim];
  require_types(attrs.start >= 0 && attrs.start <= attrs.stop && attrs.stop <= extent && attrs.step >= 1, node, inputs,
                fmt::format("needs 0 <= start <= stop <= {} and step >= 1, not {}:{}:{}", extent, attrs.start, attrs.stop, attrs.step));
  Shape shape = inputs[0].shape;
  const bool whole = attrs.start == 0 && attrs.stop == extent && attrs.step == 1;
  if (!whole) shape.set_dim(dim, Dim{(attrs.stop - attrs.start + attrs.step - 1) / attrs.step, {}});
  return {with_shape(inputs[0], shape)};
}

std::optional<Layout> layout_slice(const Node& node, const TensorType& input, const Layout& layout) {
  const auto& attrs = node.as<SliceAttrs>();
  const std::size_t dim = input.shape.wrap(attrs.dim);
  Layout result = layout;
  // a start at the end belongs to an empty slice, which must not point past its storage
  if (attrs.start < attrs.stop) result.offset += attrs.start * layout.strides[dim];
  result.strides[dim] *= attrs.step;
  return result;
}

std::vector<ValueId> slice_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId()};
  Builder& b = c.b;
  const auto attrs = c.node.as<SliceAttrs>();
  const Shape shape = b.shape(c.in(0));
  const std::size_t dim = shape.wrap(attrs.dim);
  if (attrs.step != 1) {
    Ints strides = shape.dense_strides();
    const std::int64_t offset = attrs.start < attrs.stop ? attrs.start * strides[dim] : 0;
    strides[dim] *= attrs.step;
    return {b.emit(op::as_strided_backward, {c.gy()}, StridedAttrs{b.shape(c.gy()), std::move(strides), offset, shape})};
  }
  if (attrs.start == 0 && attrs.stop == shape[dim]) return {c.gy()};
  return {ops::pad_dim(b, c.gy(), dim, attrs.start, shape[dim] - attrs.stop)};
}

// ---- squeeze, unsqueeze ------------------------------------------------------------------------------------------

std::vector<bool> named_dims(const Node& node, TypeSpan inputs, std::size_t rank) {
  std::vector<bool> named(rank, false);
  for (const std::int64_t dim : node.as<DimsAttrs>().dims) {
    const std::int64_t wrapped = dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
    require_types(wrapped >= 0 && wrapped < static_cast<std::int64_t>(rank), node, inputs,
                  fmt::format("dimension {} out of range for rank {}", dim, rank));
    require_types(!named[static_cast<std::size_t>(wrapped)], node, inputs, fmt::format("dimension {} is named twice", dim));
    named[static_cast<std::size_t>(wrapped)] = true;
  }
  return named;
}

TensorTypes infer_squeeze(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const Shape& from = inputs[0].shape;
  const std::vector<bool> named = named_dims(node, inputs, from.rank());
  Shape shape;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    require_types(!named[d] || from[d] == 1, node, inputs, fmt::format("only an extent of 1 can be removed, not dimension {}", d));
    if (!named[d]) shape.append(from.dim(d));
  }
  return {with_shape(inputs[0], shape)};
}

std::optional<Layout> layout_squeeze(const Node& node, const TensorType& input, const Layout& layout) {
  const std::vector<bool> named = named_dims(node, {&input, 1}, input.shape.rank());
  Layout result{layout.offset, {}};
  for (std::size_t d = 0; d < input.shape.rank(); ++d) {
    if (!named[d]) result.strides.push_back(layout.strides[d]);
  }
  return result;
}

std::vector<bool> added_dims(const Node& node, TypeSpan inputs) {
  const std::size_t rank = inputs[0].shape.rank() + node.as<DimsAttrs>().dims.size();
  require_types(rank <= Shape::kMaxRank, node, inputs, fmt::format("the result would have more than {} dimensions", Shape::kMaxRank));
  return named_dims(node, inputs, rank);
}

TensorTypes infer_unsqueeze(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  Shape shape;
  std::size_t next = 0;
  for (const bool added : added_dims(node, inputs)) shape.append(added ? Dim{1, {}} : inputs[0].shape.dim(next++));
  return {with_shape(inputs[0], shape)};
}

std::optional<Layout> layout_unsqueeze(const Node& node, const TensorType& input, const Layout& layout) {
  Layout result{layout.offset, {}};
  std::size_t next = 0;
  for (const bool added : added_dims(node, {&input, 1})) {
    const bool past = next == input.shape.rank();
    // the stride a dense array of this shape would have
    const std::int64_t outer = past ? 1 : layout.strides[next] * input.shape[next];
    result.strides.push_back(added ? outer : layout.strides[next++]);
  }
  return result;
}

std::vector<ValueId> reshape_back_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId()};
  return {ops::reshape(c.b, c.gy(), c.b.shape(c.in(0)))};
}

}  // namespace

std::vector<OpRow> view_rows() {
  std::vector<OpRow> rows;
  rows.push_back(view_row(op::reshape, infer_reshape, reshape_back_vjp, layout_reshape, [] {
    return std::vector<OpSample>{view_sample("merge", {2, 3, 4}, ShapeAttrs{{6, 4}, DType::float32}),
                                 view_sample("cut", {6, 4}, ShapeAttrs{{2, 3, 2, 2}, DType::float32}),
                                 view_sample("to_scalar", {1, 1}, ShapeAttrs{{}, DType::float32}),
                                 view_sample("empty", {0, 4}, ShapeAttrs{{2, 0}, DType::float32}),
                                 view_sample("integers", {2, 3}, ShapeAttrs{{6}, DType::int64}, DType::int64)};
  }));
  rows.push_back(view_row(
      op::expand, infer_expand,
      [](VjpContext& c) {
        if (!c.gy().valid()) return std::vector<ValueId>{ValueId()};
        return std::vector<ValueId>{ops::sum_to(c.b, c.gy(), c.b.shape(c.in(0)))};
      },
      layout_expand, [] {
        return std::vector<OpSample>{view_sample("rows", {1, 3}, ShapeAttrs{{4, 3}, DType::float32}),
                                     view_sample("new_dimension", {3, 1}, ShapeAttrs{{2, 3, 4}, DType::float32}),
                                     view_sample("scalar", {}, ShapeAttrs{{2, 2}, DType::float32})};
      }));
  rows.push_back(view_row(op::permute, infer_permute, permute_vjp, layout_permute, [] {
    return std::vector<OpSample>{view_sample("four", {2, 3, 4, 2}, DimsAttrs{{2, 0, 3, 1}}),
                                 view_sample("transpose", {3, 4}, DimsAttrs{{1, 0}}),
                                 view_sample("booleans", {2, 3}, DimsAttrs{{-1, 0}}, DType::boolean)};
  }));
  rows.push_back(view_row(op::slice, infer_slice, slice_vjp, layout_slice, [] {
    return std::vector<OpSample>{view_sample("middle", {3, 5}, SliceAttrs{1, 1, 4, 1}), view_sample("step", {3, 6}, SliceAttrs{1, 1, 6, 2}),
                                 view_sample("whole", {3, 5}, SliceAttrs{0, 0, 3, 1}),
                                 view_sample("empty", {3, 5}, SliceAttrs{1, 5, 5, 1})};
  }));
  rows.push_back(view_row(op::squeeze, infer_squeeze, reshape_back_vjp, layout_squeeze, [] {
    return std::vector<OpSample>{view_sample("one", {2, 1, 3}, DimsAttrs{{1}}), view_sample("two", {1, 2, 1}, DimsAttrs{{0, -1}})};
  }));
  rows.push_back(view_row(op::unsqueeze, infer_unsqueeze, reshape_back_vjp, layout_unsqueeze, [] {
    return std::vector<OpSample>{view_sample("front", {2, 3}, DimsAttrs{{0}}), view_sample("back_and_middle", {2, 3}, DimsAttrs{{-1, 1}})};
  }));
  return rows;
}

}  // namespace reprise
