// SPDX-License-Identifier: Apache-2.0
// Indexing: gather and scatter along a dimension, rows and elements by index.
#include <fmt/format.h>

#include "base/error.h"
#include "ops/builders.h"
#include "ops/index_parts.h"
#include "ops/moving_parts.h"
#include "ops/row_families.h"
#include "ops/strided_walk.h"

namespace reprise {

std::vector<std::int64_t> load_indices(const EvalContext& context, std::size_t i, std::int64_t extent) {
  std::vector<std::int64_t> values = context.load<std::int64_t>(i);
  for (const std::int64_t value : values) {
    if (value < 0 || value >= extent) {
      throw UserError(fmt::format("{}: index out of range for extent {}: {}", opcode_name(context.node().opcode), extent, value));
    }
  }
  return values;
}

namespace {

/// Adds source elements, scaled, onto input 0 in ascending order, and stores.
void add_into(const EvalContext& context, std::size_t source, std::span<const std::int64_t> offsets, double alpha = 1) {
  EvalContext::dispatch(context.out_type().dtype, [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> sums = context.load<C>(0);
    const std::vector<C> values = context.load<C>(source);
    for (std::size_t i = 0; i < offsets.size(); ++i) sums[static_cast<std::size_t>(offsets[i])] += static_cast<C>(alpha) * values[i];
    context.store<C>(0, sums);
  });
}

// ---- gather, scatter ---------------------------------------------------------------------------------------------

/// Requires index to have x's rank and to fit in x but along dim; returns dim.
std::size_t require_index_beside(const Node& node, TypeSpan inputs) {
  require_index(node, inputs, 1);
  const std::size_t dim = checked_dim(node, inputs, 0, node.as<DimAttrs>().dim);
  const Shape& x = inputs[0].shape;
  const Shape& index = inputs[1].shape;
  bool fits = x.rank() == index.rank();
  for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = d == dim || index[d] <= x[d];
  require_types(fits, node, inputs, fmt::format("the index must have the input's rank and fit in it but along dimension {}", dim));
  return dim;
}

TensorTypes infer_gather(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 2, 2);
  require_index_beside(node, inputs);
  return {with_shape(inputs[0], inputs[1].shape)};
}

TensorTypes infer_scatter(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 3, 3);
  require_index_beside(node, inputs);
  require_types(inputs[2].dtype == inputs[0].dtype, node, inputs, "input and source must have one dtype");
  require_types(inputs[2].shape == inputs[1].shape, node, inputs, "index and source must have one shape");
  return {inputs[0]};
}

/// Offsets in x of the elements that the index names.
std::vector<std::int64_t> named_offsets(const EvalContext& context) {
  const Shape& x = context.in_type(0).shape;
  const Shape& shape = context.in_type(1).shape;
  const std::size_t dim = x.wrap(context.node().as<DimAttrs>().dim);
  Layout layout{0, x.dense_strides()};
  const std::int64_t stride = layout.strides[dim];
  layout.strides[dim] = 0;
  const std::vector<std::int64_t> index = load_indices(context, 1, x[dim]);
  std::vector<std::int64_t> offsets = offsets_of(shape, layout);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += index[i] * stride;
  return offsets;
}

std::vector<ValueId> gather_vjp(VjpContext& c) {
  if (!c.gy().valid() || !c.needs[0]) return {ValueId(), ValueId()};
  return {ops::scatter_add(c.b, ops::zeros_like(c.b, c.in(0)), c.node.as<DimAttrs>().dim, c.in(1), c.gy()), ValueId()};
}

/// 0, 1, 2, ... in the given shape.
ValueId positions(Builder& b, const Shape& shape) { return ops::reshape(b, ops::iota(b, shape.numel()), shape); }

/// Where an element of source is the last written to its place: the others get no gradient.
ValueId last_writer(Builder& b, ValueId x, std::int64_t dim, ValueId index) {
  const ValueId own = positions(b, b.shape(index));
  const ValueId written = ops::scatter(b, ops::full(b, b.shape(x), DType::int64, -1), dim, index, own);
  return ops::binary(b, op::eq, ops::gather(b, written, dim, index), own);
}

std::vector<ValueId> scatter_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(3);
  if (!c.gy().valid()) return gradients;
  Builder& b = c.b;
  const std::int64_t dim = c.node.as<DimAttrs>().dim;
  if (c.needs[0]) gradients[0] = ops::scatter(b, c.gy(), dim, c.in(1), ops::zeros_like(b, c.in(2)));
  if (c.needs[2]) {
    const ValueId g = ops::gather(b, c.gy(), dim, c.in(1));
    gradients[2] = ops::where(b, last_writer(b, c.in(0), dim, c.in(1)), g, ops::zeros_like(b, g));
  }
  return gradients;
}

std::vector<ValueId> scatter_add_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(3);
  if (!c.gy().valid()) return gradients;
  gradients[0] = c.gy();
  if (c.needs[2]) gradients[2] = ops::gather(c.b, c.gy(), c.node.as<DimAttrs>().dim, c.in(1));
  return gradients;
}

// ---- rows by index -----------------------------------------------------------------------------------------------

TensorTypes infer_index_select(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 2, 2);
  require_index(node, inputs, 1);
  const std::size_t dim = checked_dim(node, inputs, 0, node.as<DimAttrs>().dim);
  require_types(inputs[1].shape.rank() == 1, node, inputs, "the index must have one dimension");
  Shape shape = inputs[0].shape;
  shape.set_dim(dim, inputs[1].shape.dim(0));
  return {with_shape(inputs[0], shape)};
}

TensorTypes infer_index_add(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 3, 3);
  require_index(node, inputs, 1);
  const std::size_t dim = checked_dim(node, inputs, 0, node.as<IndexAddAttrs>().dim);
  require_types(inputs[1].shape.rank() == 1, node, inputs, "the index must have one dimension");
  Shape rows = inputs[0].shape;
  rows.set_dim(dim, inputs[1].shape.dim(0));
  require_types(inputs[2].dtype == inputs[0].dtype && inputs[2].shape == rows, node, inputs,
                fmt::format("the source must have the input's dtype and the shape {}", rows.str()));
  return {inputs[0]};
}

/// Offsets in x of the elements of rows `index` along dim, in the order of a dense array of those rows.
std::vector<std::int64_t> row_offsets(const EvalContext& context, std::size_t dim) {
  const Shape& x = context.in_type(0).shape;
  const std::vector<std::int64_t> index = load_indices(context, 1, x[dim]);
  Layout layout{0, x.dense_strides()};
  const std::int64_t stride = layout.strides[dim];
  layout.strides[dim] = 0;
  Shape rows = x;
  rows.set_dim(dim, Dim{static_cast<std::int64_t>(index.size()), {}});
  std::vector<std::int64_t> offsets = offsets_of(rows, layout);
  const std::int64_t inner = rows.dense_strides()[dim];
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] += index[static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner) % index.size()] * stride;
  }
  return offsets;
}

std::vector<ValueId> index_select_vjp(VjpContext& c) {
  if (!c.gy().valid() || !c.needs[0]) return {ValueId(), ValueId()};
  return {ops::index_add(c.b, ops::zeros_like(c.b, c.in(0)), c.node.as<DimAttrs>().dim, c.in(1), c.gy()), ValueId()};
}

std::vector<ValueId> index_add_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(3);
  if (!c.gy().valid()) return gradients;
  const auto attrs = c.node.as<IndexAddAttrs>();
  gradients[0] = c.gy();
  if (c.needs[2]) {
    const ValueId rows = ops::index_select(c.b, c.gy(), attrs.dim, c.in(1));
    gradients[2] = attrs.alpha == 1 ? rows : ops::mul_scalar(c.b, rows, attrs.alpha);
  }
  return gradients;
}

// ---- index_put ---------------------------------------------------------------------------------------------------

/// x's dimensions after the `count` that are indexed, behind `lead`.
Shape indexed_shape(const Shape& lead, const Shape& x, std::size_t count) {
  Shape shape = lead;
  for (std::size_t d = count; d < x.rank(); ++d) shape.append(x.dim(d));
  return shape;
}

TensorTypes infer_index_put(const Node& node, TypeSpan inputs) {
  require_types(inputs.size() >= 3, node, inputs, "needs an input, values and at least one index");
  require_count(node, inputs, 3, inputs.size());
  const std::size_t count = inputs.size() - 2;
  require_types(count <= inputs[0].shape.rank(), node, inputs, "has more indices than the input has dimensions");
  for (std::size_t i = 2; i < inputs.size(); ++i) {
    require_index(node, inputs, i);
    require_types(inputs[i].shape == inputs[2].shape, node, inputs, "the indices must have one shape");
  }
  require_types(inputs[2].shape.rank() + inputs[0].shape.rank() - count <= Shape::kMaxRank, node, inputs,
                "the values have too many dimensions");
  const Shape values = indexed_shape(inputs[2].shape, inputs[0].shape, count);
  require_types(inputs[1].dtype == inputs[0].dtype && inputs[1].shape == values, node, inputs,
                fmt::format("the values must have the input's dtype and the shape {}", values.str()));
  return {inputs[0]};
}

std::vector<std::int64_t> put_offsets(const EvalContext& context) {
  const Shape& x = context.in_type(0).shape;
  const std::size_t count = context.input_count() - 2;
  const Ints strides = x.dense_strides();
  std::vector<std::int64_t> starts(static_cast<std::size_t>(context.in_type(2).shape.numel()), 0);
  for (std::size_t d = 0; d < count; ++d) {
    const std::vector<std::int64_t> index = load_indices(context, 2 + d, x[d]);
    for (std::size_t i = 0; i < starts.size(); ++i) starts[i] += index[i] * strides[d];
  }
  const std::int64_t inner = strides[count - 1];
  std::vector<std::int64_t> offsets;
  offsets.reserve(starts.size() * static_cast<std::size_t>(inner));
  for (const std::int64_t start : starts) {
    for (std::int64_t j = 0; j < inner; ++j) offsets.push_back(start + j);
  }
  return offsets;
}

/// The indices as one index into the flattened leading dimensions: [n]
ValueId flat_index(Builder& b, std::span<const ValueId> index, const Shape& x) {
  ValueId flat = ops::cast(b, index[0], DType::int64);
  for (std::size_t d = 1; d < index.size(); ++d) {
    flat = ops::add(b, ops::mul_scalar(b, flat, static_cast<double>(x[d])), ops::cast(b, index[d], DType::int64));
  }
  return ops::reshape(b, flat, Shape{b.shape(flat).numel()});
}

std::vector<ValueId> index_put_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(c.node.inputs.size());
  if (!c.gy().valid()) return gradients;
  Builder& b = c.b;
  const bool accumulate = c.node.as<IndexPutAttrs>().accumulate;
  const std::vector<ValueId> index(c.node.inputs.begin() + 2, c.node.inputs.end());
  const Shape x = b.shape(c.in(0));
  const Shape values = b.shape(c.in(1));
  if (c.needs[0]) {
    gradients[0] = accumulate ? c.gy() : ops::index_put(b, c.gy(), index, ops::zeros_like(b, c.in(1)), false);
  }
  if (c.needs[1]) {
    std::int64_t lead = 1;
    for (std::size_t d = 0; d < index.size(); ++d) lead *= x[d];
    const ValueId flat = flat_index(b, index, x);
    const ValueId rows = ops::reshape(b, c.gy(), indexed_shape(Shape{lead}, x, index.size()));
    ValueId g = ops::index_select(b, rows, 0, flat);
    if (!accumulate) {
      const ValueId last = last_writer(b, ops::full(b, Shape{lead}, DType::int64, 0), 0, flat);
      Shape column = b.shape(last);
      while (column.rank() < b.shape(g).rank()) column.append(1);
      g = ops::where(b, ops::reshape(b, last, column), g, ops::zeros_like(b, g));
    }
    gradients[1] = ops::reshape(b, g, values);
  }
  return gradients;
}

}  // namespace

std::vector<OpRow> index_rows() {
  std::vector<OpRow> rows;
  OpRow gather = moving_row(
      op::gather, Trait::cheap, infer_gather, gather_vjp,
      [](EvalContext& context) { copy_elements(context.out().data, context.in(0).data, named_offsets(context), element_size(context)); },
      [] {
        return std::vector<OpSample>{{"rows", {numbers({4, 3}), indices({2, 3}, 3)}, DimAttrs{0}, {}},
                                     {"columns_repeated", {numbers({2, 3}), indices({2, 6}, 2)}, DimAttrs{-1}, {}},
                                     {"smaller", {numbers({3, 4, 2}), indices({2, 5, 1}, 3)}, DimAttrs{1}, {}}};
      });
  gather.cost = gathering_cost;
  rows.push_back(std::move(gather));
  rows.push_back(moving_row(
      op::scatter, Trait::cheap | Trait::in_place_twin, infer_scatter, scatter_vjp,
      [](EvalContext& context) {
        context.copy_first_input();
        copy_elements_into(context.out().data, named_offsets(context), context.in(2).data, element_size(context));
      },
      [] {
        return std::vector<OpSample>{{"repeated", {numbers({3, 4}), indices({3, 5}, 3), numbers({3, 5})}, DimAttrs{1}, {}},
                                     {"rows", {numbers({5, 2}), indices({2, 2}, 4), numbers({2, 2})}, DimAttrs{0}, {}}};
      }));
  rows.push_back(moving_row(
      op::scatter_add, Trait::cheap | Trait::in_place_twin, infer_scatter, scatter_add_vjp,
      [](EvalContext& context) { add_into(context, 2, named_offsets(context)); },
      [] {
        return std::vector<OpSample>{{"repeated", {numbers({3, 4}), indices({3, 6}, 3), numbers({3, 6})}, DimAttrs{1}, {}},
                                     {"rows", {numbers({5, 2}), indices({2, 2}, 4), numbers({2, 2})}, DimAttrs{0}, {}}};
      }));
  OpRow select = moving_row(
      op::index_select, Trait::cheap, infer_index_select, index_select_vjp,
      [](EvalContext& context) {
        const std::size_t dim = context.in_type(0).shape.wrap(context.node().as<DimAttrs>().dim);
        copy_elements(context.out().data, context.in(0).data, row_offsets(context, dim), element_size(context));
      },
      [] {
        return std::vector<OpSample>{{"rows", {numbers({4, 3}), indices({5}, 3)}, DimAttrs{0}, {}},
                                     {"columns", {numbers({2, 4, 2}), indices({3}, 3)}, DimAttrs{1}, {}},
                                     {"empty", {numbers({4, 3}), indices({0}, 3)}, DimAttrs{0}, {}}};
      });
  select.cost = gathering_cost;
  rows.push_back(std::move(select));
  rows.push_back(moving_row(
      op::index_add, Trait::cheap | Trait::in_place_twin, infer_index_add, index_add_vjp,
      [](EvalContext& context) {
        const auto& attrs = context.node().as<IndexAddAttrs>();
        add_into(context, 2, row_offsets(context, context.in_type(0).shape.wrap(attrs.dim)), attrs.alpha);
      },
      [] {
        return std::vector<OpSample>{{"rows", {numbers({4, 3}), indices({5}, 3), numbers({5, 3})}, IndexAddAttrs{0, 1}, {}},
                                     {"scaled", {numbers({2, 4}), indices({3}, 3), numbers({2, 3})}, IndexAddAttrs{1, -0.5}, {}}};
      }));
  rows.push_back(moving_row(
      op::index_put, Trait::cheap | Trait::in_place_twin, infer_index_put, index_put_vjp,
      [](EvalContext& context) {
        const std::vector<std::int64_t> offsets = put_offsets(context);
        if (context.node().as<IndexPutAttrs>().accumulate) {
          add_into(context, 1, offsets);
        } else {
          context.copy_first_input();
          copy_elements_into(context.out().data, offsets, context.in(1).data, element_size(context));
        }
      },
      [] {
        return std::vector<OpSample>{
            {"rows", {numbers({4, 3}), numbers({5, 3}), indices({5}, 3)}, IndexPutAttrs{false}, {}},
            {"accumulate", {numbers({4, 3}), numbers({5, 3}), indices({5}, 3)}, IndexPutAttrs{true}, {}},
            {"elements", {numbers({3, 4}), numbers({2, 3}), indices({2, 3}, 2), indices({2, 3}, 3)}, IndexPutAttrs{false}, {}},
            {"elements_accumulate", {numbers({3, 4, 2}), numbers({3, 2}), indices({3}, 2), indices({3}, 3)}, IndexPutAttrs{true}, {}}};
      }));
  return rows;
}

}  // namespace reprise
