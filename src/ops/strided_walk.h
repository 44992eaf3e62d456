// SPDX-License-Identifier: Apache-2.0
// Walks over the elements of a shape in row-major order with an offset into a strided or broadcast array beside them:
// what the reference implementations of views, movement, indexing and broadcasting share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/shape.h"
#include "ops/row.h"

namespace reprise {

/// Strides that read a dense array of `shape` as if broadcast to `target`: 0 along repeated dimensions.
std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& target);

/// Calls f(offset) for every element of `shape` in row-major order, offset in elements by `layout`.
template <class F>
void walk_offsets(const Shape& shape, const Layout& layout, F&& f) {
  const std::int64_t count = shape.numel();
  std::array<std::int64_t, Shape::kMaxRank> index{};
  std::int64_t offset = layout.offset;
  for (std::int64_t i = 0; i < count; ++i) {
    f(offset);
    for (std::size_t d = shape.rank(); d-- > 0;) {
      offset += layout.strides[d];
      if (++index[d] < shape[d]) break;
      offset -= layout.strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// The offsets that walk_offsets visits.
std::vector<std::int64_t> offsets_of(const Shape& shape, const Layout& layout);
/// For every element of `target` the element of a dense array of `shape` that broadcasts to it.
std::vector<std::int64_t> broadcast_offsets(const Shape& shape, const Shape& target);

/// Copies elements of `size` bytes: to[i] = from[offsets[i]].
void copy_elements(void* to, const void* from, std::span<const std::int64_t> offsets, std::size_t size);
/// The reverse: to[offsets[i]] = from[i], ascending, so that the last of equal offsets stays.
void copy_elements_into(void* to, std::span<const std::int64_t> offsets, const void* from, std::size_t size);

}  // namespace reprise
