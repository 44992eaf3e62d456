// SPDX-License-Identifier: Apache-2.0
// Emitters of views, data movement and indexing.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/builders.h"

namespace reprise::ops {

ValueId reshape(Builder& b, ValueId x, const Shape& shape) {
  return b.shape(x) == shape ? x : b.emit(op::reshape, {x}, ShapeAttrs{shape, b.dtype(x)});
}

ValueId expand(Builder& b, ValueId x, const Shape& shape) {
  return b.shape(x) == shape ? x : b.emit(op::expand, {x}, ShapeAttrs{shape, b.dtype(x)});
}

ValueId permute(Builder& b, ValueId x, Ints order) { return b.emit(op::permute, {x}, DimsAttrs{std::move(order)}); }

ValueId transpose(Builder& b, ValueId x, std::int64_t dim0, std::int64_t dim1) {
  Ints order(b.shape(x).rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[b.shape(x).wrap(dim0)], order[b.shape(x).wrap(dim1)]);
  return permute(b, x, std::move(order));
}

ValueId slice(Builder& b, ValueId x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step) {
  const std::size_t d = b.shape(x).wrap(dim);
  const std::int64_t extent = b.shape(x)[d];
  const auto clamped = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + extent : i, 0, extent); };
  const std::int64_t first = clamped(start);
  const std::int64_t last = std::max(first, clamped(stop));
  return b.emit(op::slice, {x}, SliceAttrs{static_cast<std::int64_t>(d), first, last, step});
}

ValueId select(Builder& b, ValueId x, std::int64_t dim, std::int64_t index) {
  const std::size_t d = b.shape(x).wrap(dim);
  const std::int64_t extent = b.shape(x)[d];
  const std::int64_t i = index < 0 ? index + extent : index;
  if (i < 0 || i >= extent) throw UserError(fmt::format("index out of range for extent {}: {}", extent, index));
  return squeeze(b, slice(b, x, dim, i, i + 1), {static_cast<std::int64_t>(d)});
}

ValueId squeeze(Builder& b, ValueId x, Ints dims) { return b.emit(op::squeeze, {x}, DimsAttrs{std::move(dims)}); }

ValueId unsqueeze(Builder& b, ValueId x, Ints dims) { return b.emit(op::unsqueeze, {x}, DimsAttrs{std::move(dims)}); }

ValueId diagonal(Builder& b, ValueId x, std::int64_t offset) { return b.emit(op::diagonal, {x}, DiagonalAttrs{offset}); }

ValueId unfold(Builder& b, ValueId x, std::int64_t dim, std::int64_t size, std::int64_t step) {
  return b.emit(op::unfold, {x}, UnfoldAttrs{dim, size, step});
}

std::vector<ValueId> split(Builder& b, ValueId x, std::int64_t dim, const Ints& sizes) {
  const std::int64_t extent = b.shape(x)[b.shape(x).wrap(dim)];
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (total != extent) throw UserError(fmt::format("the sizes of a split must add up to the extent {}: {}", extent, total));
  std::vector<ValueId> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(slice(b, x, dim, start, start + size));
    start += size;
  }
  return parts;
}

ValueId as_strided(Builder& b, ValueId x, const Shape& shape, Ints strides, std::int64_t offset) {
  return b.emit(op::as_strided, {x}, StridedAttrs{shape, std::move(strides), offset, {}});
}

ValueId as_strided_scatter(Builder& b, ValueId base, ValueId src, const Shape& shape, Ints strides, std::int64_t offset) {
  return b.emit(op::as_strided_scatter, {base, src}, StridedAttrs{shape, std::move(strides), offset, {}});
}

ValueId cat(Builder& b, std::vector<ValueId> xs, std::int64_t dim) { return b.emit(op::cat, std::move(xs), DimAttrs{dim}); }

ValueId stack(Builder& b, const std::vector<ValueId>& xs, std::int64_t dim) {
  std::vector<ValueId> parts;
  for (const ValueId x : xs) {
    const auto rank = static_cast<std::int64_t>(b.shape(x).rank()) + 1;
    parts.push_back(unsqueeze(b, x, {dim < 0 ? dim + rank : dim}));
  }
  return cat(b, std::move(parts), dim);
}

ValueId flip(Builder& b, ValueId x, Ints dims) { return b.emit(op::flip, {x}, DimsAttrs{std::move(dims)}); }

ValueId roll(Builder& b, ValueId x, std::int64_t shift, std::int64_t dim) { return b.emit(op::roll, {x}, RollAttrs{dim, shift}); }

ValueId repeat(Builder& b, ValueId x, Ints repeats) { return b.emit(op::repeat, {x}, DimsAttrs{std::move(repeats)}); }

ValueId repeat_interleave(Builder& b, ValueId x, std::int64_t repeats, std::int64_t dim) {
  const std::size_t d = b.shape(x).wrap(dim);
  Shape wide;
  Shape flat;
  for (std::size_t i = 0; i < b.shape(x).rank(); ++i) {
    wide.append(b.shape(x).dim(i));
    flat.append(i == d ? b.shape(x)[i] * repeats : b.shape(x)[i]);
    if (i == d) wide.append(repeats);
  }
  return reshape(b, expand(b, unsqueeze(b, x, {static_cast<std::int64_t>(d) + 1}), wide), flat);
}

ValueId pad(Builder& b, ValueId x, Ints before, Ints after, double value) {
  return b.emit(op::pad, {x}, PadAttrs{std::move(before), std::move(after), value});
}

ValueId pad_dim(Builder& b, ValueId x, std::size_t dim, std::int64_t before, std::int64_t after) {
  Ints befores(b.shape(x).rank(), 0);
  Ints afters = befores;
  befores[dim] = before;
  afters[dim] = after;
  return pad(b, x, std::move(befores), std::move(afters));
}

ValueId tril(Builder& b, ValueId x, std::int64_t diagonal) { return b.emit(op::tril, {x}, DiagonalAttrs{diagonal}); }

ValueId triu(Builder& b, ValueId x, std::int64_t diagonal) { return b.emit(op::triu, {x}, DiagonalAttrs{diagonal}); }

ValueId gather(Builder& b, ValueId x, std::int64_t dim, ValueId index) { return b.emit(op::gather, {x, index}, DimAttrs{dim}); }

ValueId scatter(Builder& b, ValueId x, std::int64_t dim, ValueId index, ValueId src) {
  return b.emit(op::scatter, {x, index, src}, DimAttrs{dim});
}

ValueId scatter_add(Builder& b, ValueId x, std::int64_t dim, ValueId index, ValueId src) {
  return b.emit(op::scatter_add, {x, index, src}, DimAttrs{dim});
}

ValueId index_select(Builder& b, ValueId x, std::int64_t dim, ValueId index) {
  return b.emit(op::index_select, {x, index}, DimAttrs{dim});
}

ValueId index_add(Builder& b, ValueId x, std::int64_t dim, ValueId index, ValueId src, double alpha) {
  return b.emit(op::index_add, {x, index, src}, IndexAddAttrs{dim, alpha});
}

ValueId index_put(Builder& b, ValueId x, std::vector<ValueId> indices, ValueId values, bool accumulate) {
  std::vector<ValueId> inputs = {x, values};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  return b.emit(op::index_put, std::move(inputs), IndexPutAttrs{accumulate});
}

ValueId embedding(Builder& b, ValueId weight, ValueId index, std::optional<std::int64_t> padding_index) {
  return b.emit(op::embedding, {weight, index}, EmbeddingAttrs{b.shape(weight)[0], padding_index});
}

ValueId embedding_backward(Builder& b, ValueId gy, ValueId index, std::int64_t rows, std::optional<std::int64_t> padding_index) {
  return b.emit(op::embedding_backward, {gy, index}, EmbeddingAttrs{rows, padding_index});
}

ValueId one_hot(Builder& b, ValueId index, std::int64_t classes) { return b.emit(op::one_hot, {index}, SizeAttrs{classes}); }

}  // namespace reprise::ops
