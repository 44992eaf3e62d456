// SPDX-License-Identifier: Apache-2.0
// Two ops: one made of parts, and an opaque one that needs a workspace.
#include <cstring>

#include "reprise/op.h"

using namespace reprise;

namespace {

/// x + sin^2(a x) / a (Ziyin et al., 2020).
OpRow snake() {
  OpRow row;
  row.traits = Trait::pointwise;
  row.infer = [](const Node& node, std::span<const TensorType> inputs) {
    require_count(node, inputs, 1, 1);
    require_real(node, inputs);
    require_known_fields(node, {"a"});
    return std::vector{inputs[0]};
  };
  row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
    const double a = custom_field<double>(node, "a");
    const ValueId wave = ops::square(b, ops::unary(b, op::sin, ops::mul_scalar(b, inputs[0], a)));
    return std::vector{ops::add(b, inputs[0], ops::div_scalar(b, wave, a))};
  };
  row.samples = [] { return std::vector{op_sample("half", {real_input({3, 4})}, CustomAttrs{"", {{"a", 0.5}}})}; };
  return row;
}

/// The last dimension backwards; its own inverse, and so its own derivative.
OpRow reversed() {
  OpRow row;
  row.infer = [](const Node& node, std::span<const TensorType> inputs) {
    require_count(node, inputs, 1, 1);
    return std::vector{inputs[0]};
  };
  row.workspace = [](const Node&, std::span<const TensorType> inputs, std::span<const TensorType>) { return inputs[0].bytes(); };
  row.evaluate = [](EvalContext& context) {
    const TensorType& type = context.in_type(0);
    const auto size = static_cast<std::int64_t>(dtype_size(type.dtype));
    std::byte* const scratch = context.workspace().data();
    std::memcpy(scratch, context.in(0).data, static_cast<std::size_t>(type.bytes()));
    auto* const to = static_cast<std::byte*>(context.out().data);
    const std::int64_t width = type.shape.back();
    for (std::int64_t i = 0; i < type.shape.numel(); ++i) {
      std::memcpy(to + i * size, scratch + (i / width * width + width - 1 - i % width) * size, static_cast<std::size_t>(size));
    }
  };
  row.vjp = [](VjpContext& c) { return std::vector{c.b.emit(c.node.opcode, {c.gy()}, c.node.attrs)}; };
  row.cost = [](const Node&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    return streaming_cost(inputs, outputs);
  };
  row.samples = [] { return std::vector{op_sample("matrix", {real_input({3, 4})}, CustomAttrs{})}; };
  return row;
}

}  // namespace

REPRISE_OPS {
  register_op("loaded_snake", snake());
  register_op("loaded_reversed", reversed());
}
