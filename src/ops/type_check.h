// SPDX-License-Identifier: Apache-2.0
// What the `infer` and `cost` columns of the rows share: errors that name the op and its input types, and byte counts.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "ops/row.h"

namespace reprise {

/// Throws UserError "OP: reason: types of the inputs".
[[noreturn]] void type_error(const Node& node, std::span<const TensorType> inputs, std::string_view reason);

/// Throws type_error unless `condition` holds.
inline void require_types(bool condition, const Node& node, std::span<const TensorType> inputs, std::string_view reason) {
  if (!condition) type_error(node, inputs, reason);
}
/// Requires between `least` and `most` inputs, all on one device.
void require_count(const Node& node, std::span<const TensorType> inputs, std::size_t least, std::size_t most);
/// Requires the first `count` inputs to share one floating dtype.
void require_floating(const Node& node, std::span<const TensorType> inputs, std::size_t count);
/// Requires input i to be int32 or int64.
void require_index(const Node& node, std::span<const TensorType> inputs, std::size_t i);

/// `dim` of input i counted from 0; type_error when it is out of range.
std::size_t checked_dim(const Node& node, std::span<const TensorType> inputs, std::size_t i, std::int64_t dim);
/// Requires a strided window to lie inside a dense array of shape `base`.
void require_window(const Node& node, std::span<const TensorType> inputs, const StridedAttrs& window, const Shape& base);

/// The dtype statistics and losses of x are kept in: float64 for float64, else float32.
constexpr DType statistic_dtype(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }
/// The type of `like` with another shape; with another shape and dtype.
TensorType with_shape(const TensorType& like, const Shape& shape);
TensorType with_shape(const TensorType& like, const Shape& shape, DType dtype);
/// `shape` without its last `count` dimensions.
Shape without_last(const Shape& shape, std::size_t count = 1);

/// Bytes of every input and output once, and `flops`.
Cost streaming_cost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, double flops = 0);

}  // namespace reprise
