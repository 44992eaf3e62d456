// SPDX-License-Identifier: Apache-2.0
// How kernels walk strided operands: dimensions of an output with the matching strides of every operand, merged as far as memory allows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/shape.h"

namespace reprise::loops {

inline constexpr std::size_t kMaxOperands = 4;

/// Dimensions outermost first; the dense output is operand 0 of `strides`. At least one dimension.
struct Walk {
  std::size_t rank = 0;
  std::size_t operands = 0;
  std::array<std::int64_t, Shape::kMaxRank> extents{};
  std::array<std::array<std::int64_t, Shape::kMaxRank>, kMaxOperands> strides{};  // by operand, then dimension

  std::int64_t inner() const { return extents[rank - 1]; }
  std::int64_t outer() const;
  /// Element offsets of every operand at index `i` of the dimensions [0, dims), row-major.
  std::array<std::int64_t, kMaxOperands> offsets(std::int64_t i, std::size_t dims) const;
  /// Whether operand `k` lies exactly as the dense output does.
  bool dense(std::size_t k) const;
};

/// Shape and strides of one input.
struct StridedShape {
  const Shape* shape = nullptr;
  std::span<const std::int64_t> strides;
};

/// The walk over a dense output of `shape`; each input broadcasts to it (stride 0 where it does).
Walk make_walk(const Shape& shape, std::span<const StridedShape> inputs);

}  // namespace reprise::loops
