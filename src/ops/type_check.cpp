// SPDX-License-Identifier: Apache-2.0
#include "ops/type_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace reprise {

void type_error(const Node& node, std::span<const TensorType> inputs, std::string_view reason) {
  std::string types;
  for (const TensorType& type : inputs) types += (types.empty() ? "" : ", ") + type.str();
  throw UserError(fmt::format("{}: {}: {}", opcode_name(node.opcode), reason, types));
}

void require_count(const Node& node, std::span<const TensorType> inputs, std::size_t least, std::size_t most) {
  if (inputs.size() < least || inputs.size() > most) {
    const std::string wanted = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    type_error(node, inputs, fmt::format("takes {} inputs, not {}", wanted, inputs.size()));
  }
  for (const TensorType& type : inputs) {
    require_types(type.device == inputs[0].device, node, inputs, "inputs must be on one device");
  }
}

void require_floating(const Node& node, std::span<const TensorType> inputs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    require_types(is_floating(inputs[i].dtype) && inputs[i].dtype == inputs[0].dtype, node, inputs,
                  "inputs must have one floating dtype");
  }
}

void require_index(const Node& node, std::span<const TensorType> inputs, std::size_t i) {
  require_types(inputs[i].dtype == DType::int32 || inputs[i].dtype == DType::int64, node, inputs,
                fmt::format("input {} holds indices and must be int32 or int64", i));
}

std::size_t checked_dim(const Node& node, std::span<const TensorType> inputs, std::size_t i, std::int64_t dim) {
  const auto rank = static_cast<std::int64_t>(inputs[i].shape.rank());
  const std::int64_t wrapped = dim < 0 ? dim + rank : dim;
  if (wrapped < 0 || wrapped >= rank) type_error(node, inputs, fmt::format("dimension {} out of range for rank {}", dim, rank));
  return static_cast<std::size_t>(wrapped);
}

void require_window(const Node& node, std::span<const TensorType> inputs, const StridedAttrs& window, const Shape& base) {
  require_types(window.strides.size() == window.shape.rank(), node, inputs, "needs a stride for every dimension");
  std::int64_t last = window.offset;
  bool inside = window.offset >= 0;
  for (std::size_t d = 0; d < window.shape.rank(); ++d) {
    inside = inside && window.strides[d] >= 0;
    last += std::max<std::int64_t>(window.shape[d] - 1, 0) * window.strides[d];
  }
  require_types(
      window.shape.numel() == 0 || (inside && last < base.numel()), node, inputs,
      fmt::format("the window {} reaches outside its base of {} elements, to element {}", window.shape.str(), base.numel(), last));
}

TensorType with_shape(const TensorType& like, const Shape& shape) { return {like.dtype, shape, like.device}; }

TensorType with_shape(const TensorType& like, const Shape& shape, DType dtype) { return {dtype, shape, like.device}; }

Shape without_last(const Shape& shape, std::size_t count) {
  Shape result;
  for (std::size_t i = 0; i + count < shape.rank(); ++i) result.append(shape.dim(i));
  return result;
}

Cost streaming_cost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, double flops) {
  Cost cost;
  cost.flops = flops;
  for (const TensorType& type : inputs) cost.bytes_read += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes_written += static_cast<double>(type.bytes());
  return cost;
}

}  // namespace reprise
