// SPDX-License-Identifier: Apache-2.0
#include "ops/row_parts.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reprise {

void require_one_dtype(const Node& node, TypeSpan inputs) {
  for (const TensorType& type : inputs) {
    require_types(type.dtype == inputs[0].dtype, node, inputs, "inputs must have one dtype, cast one of them");
    require_types(type.device == inputs[0].device, node, inputs, "inputs must be on one device");
  }
}

void require_real(const Node& node, TypeSpan inputs, std::size_t i) {
  const DType dtype = inputs[i].dtype;
  require_types(is_floating(dtype) && dtype != DType::float16, node, inputs,
                fmt::format("input {} must be float32, float64 or bfloat16", i));
}

void require_number(const Node& node, TypeSpan inputs, std::size_t i) {
  const DType dtype = inputs[i].dtype;
  require_types(dtype != DType::boolean && dtype != DType::float16, node, inputs,
                fmt::format("input {} must be float32, float64, bfloat16, int32 or int64", i));
}

void require_bool(const Node& node, TypeSpan inputs, std::size_t i) {
  require_types(inputs[i].dtype == DType::boolean, node, inputs, fmt::format("input {} must be bool", i));
}

void require_scalar(const Node& node, TypeSpan inputs, std::size_t i, DType dtype) {
  require_types(inputs[i].dtype == dtype && inputs[i].shape.rank() == 0, node, inputs,
                fmt::format("input {} must be a scalar of {}", i, dtype_name(dtype)));
}

TensorTypes checked_in_place(const Node& node, TypeSpan inputs, TensorTypes outputs) {
  if (node.in_place && outputs[0] != inputs[0]) {
    type_error(node, inputs, fmt::format("in place the result must have input 0's type, not {}", outputs[0].str()));
  }
  return outputs;
}

Shape broadcast_inputs(const Node& node, TypeSpan inputs) {
  Shape shape = inputs[0].shape;
  for (const TensorType& type : inputs) {
    try {
      shape = broadcast_shapes(shape, type.shape);
    } catch (const UserError&) {
      type_error(node, inputs, "shapes do not broadcast, extents must be equal or 1");
    }
  }
  return shape;
}

std::size_t scan_dim(const Node& node, TypeSpan inputs, std::int64_t dim) {
  if (inputs[0].shape.rank() == 0 && (dim == 0 || dim == -1)) return 0;
  return checked_dim(node, inputs, 0, dim);
}

CostFunction cost_per_output(double flops) {
  return [flops](const Node&, TypeSpan inputs, TypeSpan outputs) {
    return streaming_cost(inputs, outputs, flops * static_cast<double>(outputs[0].shape.numel()));
  };
}

CostFunction cost_per_input(double flops) {
  return [flops](const Node&, TypeSpan inputs, TypeSpan outputs) {
    return streaming_cost(inputs, outputs, flops * static_cast<double>(inputs[0].shape.numel()));
  };
}

SampleInput real_input(const Shape& shape, double low, double high) {
  return {TensorType{DType::float32, shape, Device::cpu}, low, high};
}

SampleInput integer_input(const Shape& shape, std::int64_t low, std::int64_t high) {
  return {TensorType{DType::int64, shape, Device::cpu}, static_cast<double>(low), static_cast<double>(high)};
}

SampleInput bool_input(const Shape& shape) { return {TensorType{DType::boolean, shape, Device::cpu}, 0, 1}; }

OpSample op_sample(std::string name, std::vector<SampleInput> inputs, Attrs attrs, bool differentiable) {
  return {std::move(name), std::move(inputs), std::move(attrs), {}, differentiable};
}

}  // namespace reprise
