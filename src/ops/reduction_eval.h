// SPDX-License-Identifier: Apache-2.0
// Which elements a reduction adds up, and in which order: the places of a dense input that each result reads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/reduction.h"
#include "ir/attrs.h"
#include "ir/shape.h"

namespace reprise {

/// Result o reduces the elements bases[o] + steps[r], r ascending: row-major in the reduced dimensions.
struct ReducePlan {
  reduction::Rule rule = reduction::Rule::full;
  std::vector<std::size_t> bases;
  std::vector<std::size_t> steps;
};

/// The set of reduced dimensions, bit d for dimension d; no dims: all. UserError when one is out of range or stands twice.
std::uint64_t reduced_dims(const Shape& shape, const std::optional<Ints>& dims);
ReducePlan reduce_plan(const Shape& shape, std::uint64_t reduced);
/// Rows along one dimension; a scalar is one row of one element.
ReducePlan row_plan(const Shape& shape, std::size_t dim);

/// Reduces `n` elements by the order of `rule`.
template <class Op, class T, class Load>
T reduce_by(reduction::Rule rule, std::size_t n, const Load& load) {
  switch (rule) {
    case reduction::Rule::full: return reduction::reduce_all<Op, T>(n, load);
    case reduction::Rule::row: return reduction::reduce_row<Op, T>(n, load);
    case reduction::Rule::rows: return reduction::reduce_rows<Op, T>(n, load);
  }
  return Op::identity();
}

}  // namespace reprise
