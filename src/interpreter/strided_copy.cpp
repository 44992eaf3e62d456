// SPDX-License-Identifier: Apache-2.0
#include "interpreter/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/strided_walk.h"

namespace reprise {
bool is_dense(const Shape& shape, const Layout& layout) {
  std::int64_t stride = 1;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    if (shape[d] != 1 && layout.strides[d] != stride) return false;
    stride *= shape[d];
  }
  return true;
}

bool may_overlap(const Shape& shape, const Layout& layout) {
  if (shape.numel() < 2) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, extent
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] > 1) dims.emplace_back(layout.strides[d], shape[d]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t span = 1;  // places that the dimensions so far reach over
  for (const auto& [stride, extent] : dims) {
    if (stride < span) return true;
    span += stride * (extent - 1);
  }
  return false;
}

void gather_strided(const Shape& shape, const Layout& layout, std::size_t size, const std::byte* storage, std::byte* dense) {
  walk_offsets(shape, layout, [&](std::int64_t place) {
    std::memcpy(dense, storage + static_cast<std::size_t>(place) * size, size);
    dense += size;
  });
}

void scatter_strided(const Shape& shape, const Layout& layout, std::size_t size, const std::byte* dense, std::byte* storage) {
  walk_offsets(shape, layout, [&](std::int64_t place) {
    std::memcpy(storage + static_cast<std::size_t>(place) * size, dense, size);
    dense += size;
  });
}

}  // namespace reprise
