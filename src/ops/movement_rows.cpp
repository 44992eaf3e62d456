// SPDX-License-Identifier: Apache-2.0
// Data movement: joins, reversals, repeats, padding and triangles. Elements are copied as bytes.
#include <fmt/format.h>

#include <cstring>

#include "ops/builders.h"
#include "ops/moving_parts.h"
#include "ops/row_families.h"
#include "ops/strided_walk.h"

namespace reprise {
namespace {

// ---- cat ---------------------------------------------------------------------------------------------------------

TensorTypes infer_cat(const Node& node, TypeSpan inputs) {
  require_types(!inputs.empty(), node, inputs, "needs at least one input");
  require_count(node, inputs, 1, inputs.size());
  const std::size_t dim = checked_dim(node, inputs, 0, node.as<DimAttrs>().dim);
  Shape shape = inputs[0].shape;
  std::int64_t extent = 0;
  for (const TensorType& input : inputs) {
    bool fits = input.dtype == inputs[0].dtype && input.shape.rank() == shape.rank();
    for (std::size_t d = 0; fits && d < shape.rank(); ++d) fits = d == dim || input.shape.dim(d) == shape.dim(d);
    require_types(fits, node, inputs, fmt::format("inputs must agree in dtype and in every extent but that of dimension {}", dim));
    extent += input.shape[dim];
  }
  if (inputs.size() > 1) shape.set_dim(dim, Dim{extent, {}});
  return {with_shape(inputs[0], shape)};
}

std::vector<ValueId> cat_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(c.node.inputs.size());
  if (!c.gy().valid()) return gradients;
  const auto dim = static_cast<std::int64_t>(c.b.shape(c.in(0)).wrap(c.node.as<DimAttrs>().dim));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::int64_t extent = c.b.shape(c.in(i))[static_cast<std::size_t>(dim)];
    if (c.needs[i]) gradients[i] = ops::slice(c.b, c.gy(), dim, start, start + extent);
    start += extent;
  }
  return gradients;
}

void evaluate_cat(EvalContext& context) {
  const TensorType& output = context.out_type();
  const std::size_t dim = output.shape.wrap(context.node().as<DimAttrs>().dim);
  const Ints strides = output.shape.dense_strides();
  std::int64_t start = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Shape& shape = context.in_type(i).shape;
    copy_elements_into(context.out().data, offsets_of(shape, {start * strides[dim], strides}), context.in(i).data, element_size(context));
    start += shape[dim];
  }
}

// ---- flip, roll, repeat ------------------------------------------------------------------------------------------

std::vector<bool> flipped_dims(const Node& node, TypeSpan inputs) {
  std::vector<bool> flipped(inputs[0].shape.rank(), false);
  for (const std::int64_t dim : node.as<DimsAttrs>().dims) {
    const std::size_t d = checked_dim(node, inputs, 0, dim);
    require_types(!flipped[d], node, inputs, fmt::format("dimension {} is named twice", dim));
    flipped[d] = true;
  }
  return flipped;
}

TensorTypes infer_flip(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  flipped_dims(node, inputs);
  return {inputs[0]};
}

void evaluate_flip(EvalContext& context) {
  const TensorType& type = context.in_type(0);
  const std::vector<bool> flipped = flipped_dims(context.node(), {&type, 1});
  Layout layout{0, type.shape.dense_strides()};
  for (std::size_t d = 0; d < flipped.size(); ++d) {
    if (!flipped[d]) continue;
    layout.offset += (type.shape[d] - 1) * layout.strides[d];
    layout.strides[d] = -layout.strides[d];
  }
  copy_elements(context.out().data, context.in(0).data, offsets_of(type.shape, layout), element_size(context));
}

TensorTypes infer_roll(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  checked_dim(node, inputs, 0, node.as<RollAttrs>().dim);
  return {inputs[0]};
}

void evaluate_roll(EvalContext& context) {
  const auto& attrs = context.node().as<RollAttrs>();
  const Shape& shape = context.in_type(0).shape;
  const std::size_t dim = shape.wrap(attrs.dim);
  const std::int64_t extent = shape[dim];
  if (shape.numel() == 0) return;
  const std::int64_t shift = (attrs.shift % extent + extent) % extent;
  const std::int64_t inner = shape.dense_strides()[dim];
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t place = at / inner % extent;
    offsets[i] = at + ((place - shift + extent) % extent - place) * inner;
  }
  copy_elements(context.out().data, context.in(0).data, offsets, element_size(context));
}

TensorTypes infer_repeat(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const Ints& repeats = node.as<DimsAttrs>().dims;
  const Shape& from = inputs[0].shape;
  require_types(repeats.size() >= from.rank(), node, inputs, "needs a count for every dimension");
  Shape shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    require_types(repeats[i] >= 0, node, inputs, fmt::format("a count cannot be negative: {}", repeats[i]));
    const std::size_t lead = repeats.size() - from.rank();
    if (i < lead) {
      shape.append(repeats[i]);
    } else if (repeats[i] == 1) {
      shape.append(from.dim(i - lead));
    } else {
      shape.append(from[i - lead] * repeats[i]);
    }
  }
  return {with_shape(inputs[0], shape)};
}

std::vector<ValueId> repeat_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId()};
  const Ints repeats = c.node.as<DimsAttrs>().dims;
  const Shape from = c.b.shape(c.in(0));
  const std::size_t lead = repeats.size() - from.rank();
  // cut every repeated dimension into (count, extent) and sum over the counts, one dimension at a time: the rank stays low
  ValueId g = c.gy();
  for (std::size_t i = repeats.size(); i-- > 0;) {
    if (repeats[i] == 1 && i >= lead) continue;
    Shape outer;
    for (std::size_t d = 0; d < i; ++d) outer.append(c.b.shape(g).dim(d));
    Shape cut = outer;
    cut.append(repeats[i]);
    if (i >= lead) cut.append(from.dim(i - lead));
    for (std::size_t d = i + 1; d < c.b.shape(g).rank(); ++d) cut.append(c.b.shape(g).dim(d));
    g = ops::sum(c.b, ops::reshape(c.b, g, cut), Ints{static_cast<std::int64_t>(i)});
  }
  return {g};
}

void evaluate_repeat(EvalContext& context) {
  const Shape& from = context.in_type(0).shape;
  const Shape& to = context.out_type().shape;
  const Ints dense = from.dense_strides();
  const Ints outer = to.dense_strides();
  const std::size_t lead = to.rank() - from.rank();
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(to.numel()));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < from.rank(); ++d) {
      offset += static_cast<std::int64_t>(i) / outer[lead + d] % to[lead + d] % from[d] * dense[d];
    }
    offsets[i] = offset;
  }
  copy_elements(context.out().data, context.in(0).data, offsets, element_size(context));
}

// ---- pad ---------------------------------------------------------------------------------------------------------

TensorTypes infer_pad(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const auto& attrs = node.as<PadAttrs>();
  Shape shape = inputs[0].shape;
  require_types(attrs.before.size() == shape.rank() && attrs.after.size() == shape.rank(), node, inputs,
                "needs a count before and after for every dimension");
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    require_types(attrs.before[d] >= 0 && attrs.after[d] >= 0, node, inputs, "a count cannot be negative; slice instead");
    const std::int64_t added = attrs.before[d] + attrs.after[d];
    if (added != 0) shape.set_dim(d, Dim{shape[d] + added, {}});
  }
  return {with_shape(inputs[0], shape)};
}

std::vector<ValueId> pad_vjp(VjpContext& c) {
  ValueId g = c.gy();
  if (!g.valid()) return {g};
  const auto attrs = c.node.as<PadAttrs>();
  const Shape shape = c.b.shape(c.in(0));
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (attrs.before[d] == 0 && attrs.after[d] == 0) continue;
    g = ops::slice(c.b, g, static_cast<std::int64_t>(d), attrs.before[d], attrs.before[d] + shape[d]);
  }
  return {g};
}

void evaluate_pad(EvalContext& context) {
  const auto& attrs = context.node().as<PadAttrs>();
  const TensorType& output = context.out_type();
  EvalContext::dispatch(output.dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> filled(static_cast<std::size_t>(output.shape.numel()), static_cast<C>(attrs.value));
    context.store<C>(0, filled);
  });
  Layout layout{0, output.shape.dense_strides()};
  for (std::size_t d = 0; d < output.shape.rank(); ++d) layout.offset += attrs.before[d] * layout.strides[d];
  copy_elements_into(context.out().data, offsets_of(context.in_type(0).shape, layout), context.in(0).data, element_size(context));
}

// ---- tril, triu --------------------------------------------------------------------------------------------------

TensorTypes infer_triangle(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  require_types(inputs[0].shape.rank() >= 2, node, inputs, "needs two dimensions at least");
  return {inputs[0]};
}

template <class Keep>
void evaluate_triangle(EvalContext& context, Keep&& keep) {
  const TensorType& type = context.in_type(0);
  const std::int64_t columns = type.shape.back();
  const std::int64_t rows = type.shape[type.shape.rank() - 2];
  const std::size_t size = element_size(context);
  const auto* const from = static_cast<const std::byte*>(context.in(0).data);
  auto* const to = static_cast<std::byte*>(context.out().data);
  const std::int64_t count = type.shape.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t distance = i % columns - i / columns % rows;
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (keep(distance)) {
      std::memcpy(to + at, from + at, size);
    } else {
      std::memset(to + at, 0, size);  // all bits zero is 0 in every dtype
    }
  }
}

void evaluate_tril(EvalContext& context) {
  const std::int64_t diagonal = context.node().as<DiagonalAttrs>().offset;
  evaluate_triangle(context, [&](std::int64_t distance) { return distance <= diagonal; });
}

void evaluate_triu(EvalContext& context) {
  const std::int64_t diagonal = context.node().as<DiagonalAttrs>().offset;
  evaluate_triangle(context, [&](std::int64_t distance) { return distance >= diagonal; });
}

/// Linear ops that are their own transpose.
std::vector<ValueId> same_op_vjp(VjpContext& c) {
  if (!c.gy().valid()) return {ValueId()};
  return {c.b.emit(c.node.opcode, {c.gy()}, c.node.attrs)};
}

}  // namespace

std::vector<OpRow> movement_rows() {
  std::vector<OpRow> rows;
  rows.push_back(moving_row(op::cat, Trait::cheap, infer_cat, cat_vjp, evaluate_cat, [] {
    return std::vector<OpSample>{moving_sample("rows", {{2, 3}, {4, 3}}, DimAttrs{0}),
                                 moving_sample("columns", {{2, 3}, {2, 1}, {2, 2}}, DimAttrs{-1}),
                                 moving_sample("one", {{2, 3}}, DimAttrs{1}), moving_sample("empty", {{0, 3}, {2, 3}}, DimAttrs{0}),
                                 moving_sample("integers", {{2}, {3}}, DimAttrs{0}, DType::int64)};
  }));
  rows.push_back(moving_row(op::flip, Trait::cheap, infer_flip, same_op_vjp, evaluate_flip, [] {
    return std::vector<OpSample>{moving_sample("two", {{2, 3, 4}}, DimsAttrs{{0, -1}}), moving_sample("none", {{2, 3}}, DimsAttrs{{}})};
  }));
  rows.push_back(moving_row(
      op::roll, Trait::cheap, infer_roll,
      [](VjpContext& c) {
        if (!c.gy().valid()) return std::vector<ValueId>{ValueId()};
        const auto attrs = c.node.as<RollAttrs>();
        return std::vector<ValueId>{ops::roll(c.b, c.gy(), -attrs.shift, attrs.dim)};
      },
      evaluate_roll,
      [] {
        return std::vector<OpSample>{moving_sample("forward", {{2, 5, 3}}, RollAttrs{1, 2}),
                                     moving_sample("backward", {{5}}, RollAttrs{-1, -7})};
      }));
  rows.push_back(moving_row(op::repeat, Trait::cheap, infer_repeat, repeat_vjp, evaluate_repeat, [] {
    return std::vector<OpSample>{moving_sample("two", {{2, 3}}, DimsAttrs{{2, 3}}),
                                 moving_sample("new_dimension", {{2, 3}}, DimsAttrs{{3, 1, 2}})};
  }));
  rows.push_back(moving_row(op::pad, Trait::cheap, infer_pad, pad_vjp, evaluate_pad, [] {
    return std::vector<OpSample>{moving_sample("value", {{2, 3}}, PadAttrs{{0, 1}, {1, 2}, -7}),
                                 moving_sample("zeros", {{2, 3}}, PadAttrs{{2, 0}, {0, 0}, 0}),
                                 moving_sample("integers", {{3}}, PadAttrs{{1}, {1}, -1}, DType::int64)};
  }));
  rows.push_back(moving_row(op::tril, Trait::cheap | Trait::in_place_twin, infer_triangle, same_op_vjp, evaluate_tril, [] {
    return std::vector<OpSample>{moving_sample("below", {{4, 5}}, DiagonalAttrs{-1}),
                                 moving_sample("batch", {{2, 3, 3}}, DiagonalAttrs{0}),
                                 moving_sample("booleans", {{3, 3}}, DiagonalAttrs{0}, DType::boolean)};
  }));
  rows.push_back(moving_row(op::triu, Trait::cheap | Trait::in_place_twin, infer_triangle, same_op_vjp, evaluate_triu, [] {
    return std::vector<OpSample>{moving_sample("above", {{4, 5}}, DiagonalAttrs{1}),
                                 moving_sample("batch", {{2, 3, 3}}, DiagonalAttrs{0})};
  }));
  return rows;
}

}  // namespace reprise
