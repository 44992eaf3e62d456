// SPDX-License-Identifier: Apache-2.0
#include "analysis/claim.h"

namespace reprise {
namespace {

bool dense(const Shape& shape, std::span<const std::int64_t> strides) {
  std::int64_t expected = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool row_contiguous(const Shape& shape, std::span<const std::int64_t> strides) {
  return shape.rank() == 0 || shape.back() == 1 || strides.back() == 1;
}

bool matrix_layout(const Shape& shape, std::span<const std::int64_t> strides) {
  const std::size_t rank = shape.rank();
  if (rank < 2) return row_contiguous(shape, strides);
  const std::int64_t rows = shape[rank - 2];
  const std::int64_t columns = shape[rank - 1];
  const std::int64_t row_stride = rows == 1 ? columns : strides[rank - 2];
  const std::int64_t column_stride = columns == 1 ? 1 : strides[rank - 1];
  if (column_stride == 1 && row_stride >= columns) return true;
  return (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
}

}  // namespace

bool layout_satisfies(InputLayout need, const Shape& shape, std::span<const std::int64_t> strides) {
  if (shape.numel() == 0) return true;
  switch (need) {
    case InputLayout::dense: return dense(shape, strides);
    case InputLayout::rows: return row_contiguous(shape, strides);
    case InputLayout::matrices: return matrix_layout(shape, strides);
    case InputLayout::any: return true;
  }
  return false;
}

}  // namespace reprise
