// SPDX-License-Identifier: Apache-2.0
#include "interpreter/sampled_op.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "base/philox.h"
#include "ops/builder.h"

namespace reprise {
namespace {

DType widened(DType dtype) { return is_floating(dtype) ? DType::float64 : dtype; }

Trace widened(Trace body) {
  for (Value& value : body.values) value.type.dtype = widened(value.type.dtype);
  return body;
}

}  // namespace

SampledOp sampled_op(Opcode opcode, const OpSample& sample, bool wide) {
  SampledOp result;
  Node node;
  node.opcode = opcode;
  node.attrs = std::holds_alternative<NoAttrs>(sample.attrs) ? default_attrs(opcode) : sample.attrs;
  for (const SampleInput& input : sample.inputs) {
    TensorType type = input.type;
    if (wide) type.dtype = widened(type.dtype);
    node.inputs.push_back(result.trace.add_input(type, Role::batch, fmt::format("x{}", node.inputs.size())));
    result.inputs.push_back(sampled_input(input, type, 17 * (node.inputs.size() + 1)));
  }
  for (const Trace& body : sample.bodies) node.bodies.push_back(wide ? widened(body) : body);
  Builder builder(result.trace);
  const std::vector<ValueId> inputs = node.inputs;
  result.trace.outputs = builder.emit_like(node, inputs);
  return result;
}

HostTensor sampled_input(const SampleInput& input, const TensorType& type, std::uint64_t seed) {
  std::vector<double> numbers(static_cast<std::size_t>(type.shape.numel()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double u = uniform_double(philox_word(seed, i));
    const double span = input.high - input.low;
    numbers[i] = is_floating(type.dtype) ? input.low + span * u : input.low + std::floor((span + 1) * u);
  }
  return HostTensor::from_numbers(type, numbers);
}

}  // namespace reprise
