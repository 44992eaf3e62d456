// SPDX-License-Identifier: Apache-2.0
#include "ops/reduction_eval.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reprise {
namespace {

/// Offsets of all places of the dimensions in `set`, row-major.
std::vector<std::size_t> places(const Shape& shape, std::uint64_t set) {
  const std::vector<std::int64_t> strides = shape.dense_strides();
  std::vector<std::size_t> offsets = {0};
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (((set >> d) & 1u) == 0) continue;
    std::vector<std::size_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(shape[d]));
    for (const std::size_t offset : offsets) {
      for (std::int64_t i = 0; i < shape[d]; ++i) next.push_back(offset + static_cast<std::size_t>(i * strides[d]));
    }
    offsets = std::move(next);
  }
  return offsets;
}

std::uint64_t all_dims(const Shape& shape) { return (std::uint64_t{1} << shape.rank()) - 1; }

}  // namespace

std::uint64_t reduced_dims(const Shape& shape, const std::optional<Ints>& dims) {
  if (!dims) return all_dims(shape);
  std::uint64_t set = 0;
  for (const std::int64_t dim : *dims) {
    const std::uint64_t bit = std::uint64_t{1} << shape.wrap(dim);
    if ((set & bit) != 0) throw UserError(fmt::format("a dimension of {} is given twice: {}", shape.str(), dim));
    set |= bit;
  }
  return set;
}

ReducePlan reduce_plan(const Shape& shape, std::uint64_t reduced) {
  return {reduction::reduction_rule(shape.rank(), reduced), places(shape, all_dims(shape) & ~reduced), places(shape, reduced)};
}

ReducePlan row_plan(const Shape& shape, std::size_t dim) {
  const std::uint64_t bit = shape.rank() == 0 ? 0 : std::uint64_t{1} << dim;
  return {reduction::Rule::row, places(shape, all_dims(shape) & ~bit), places(shape, bit)};
}

}  // namespace reprise
