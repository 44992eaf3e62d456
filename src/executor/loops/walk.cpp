// SPDX-License-Identifier: Apache-2.0
#include "executor/loops/walk.h"

namespace reprise::loops {

std::int64_t Walk::outer() const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 1 < rank; ++d) count *= extents[d];
  return count;
}

std::array<std::int64_t, kMaxOperands> Walk::offsets(std::int64_t i, std::size_t dims) const {
  std::array<std::int64_t, kMaxOperands> result{};
  for (std::size_t d = dims; d-- > 0;) {
    const std::int64_t at = i % extents[d];
    i /= extents[d];
    for (std::size_t k = 0; k < operands; ++k) result[k] += at * strides[k][d];
  }
  return result;
}

bool Walk::dense(std::size_t k) const {
  for (std::size_t d = 0; d < rank; ++d) {
    if (strides[k][d] != strides[0][d]) return false;
  }
  return true;
}

Walk make_walk(const Shape& shape, std::span<const StridedShape> inputs) {
  Walk walk;
  walk.operands = inputs.size() + 1;
  const auto dense = shape.dense_strides();
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    std::array<std::int64_t, kMaxOperands> at{};
    at[0] = dense[d];
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Shape& from = *inputs[k].shape;
      const std::size_t missing = shape.rank() - from.rank();
      at[k + 1] = d < missing || from[d - missing] == 1 ? 0 : inputs[k].strides[d - missing];
    }
    bool merges = walk.rank > 0;
    for (std::size_t k = 0; k < walk.operands && merges; ++k) merges = walk.strides[k][walk.rank - 1] == at[k] * shape[d];
    if (merges) {
      walk.extents[walk.rank - 1] *= shape[d];
    } else {
      walk.extents[walk.rank++] = shape[d];
    }
    for (std::size_t k = 0; k < walk.operands; ++k) walk.strides[k][walk.rank - 1] = at[k];
  }
  if (walk.rank == 0) {
    walk.rank = 1;
    walk.extents[0] = shape.numel();  // 1
    for (std::size_t k = 0; k < walk.operands; ++k) walk.strides[k][0] = 1;
  }
  return walk;
}

}  // namespace reprise::loops
