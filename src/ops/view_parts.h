// SPDX-License-Identifier: Apache-2.0
// What the files of views share: the `layout` column says how the output lies in the input's storage, and the reference
// implementation reads the dense input through the same layout, so that the two cannot disagree.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "ops/eval_context.h"
#include "ops/op_table.h"
#include "ops/row_parts.h"
#include "ops/strided_walk.h"

namespace reprise {

/// Reads the dense input through the op's own layout.
inline void evaluate_view(EvalContext& context) {
  const TensorType& input = context.in_type(0);
  const auto layout = op_row(context.node().opcode).layout(context.node(), input, {0, input.shape.dense_strides()});
  REPRISE_CHECK(layout.has_value(), "a view of a dense value must have a layout");
  copy_elements(context.out().data, context.in(0).data, offsets_of(context.out_type().shape, *layout), dtype_size(input.dtype));
}

inline Cost view_cost(const Node&, TypeSpan, TypeSpan outputs) {
  // what a copy moves; a shared view costs nothing, which storage analysis knows
  const double bytes = static_cast<double>(outputs[0].bytes());
  return {0, bytes, bytes};
}

/// A row of a view.
inline OpRow view_row(Opcode opcode, decltype(OpRow::infer) infer, decltype(OpRow::vjp) vjp, decltype(OpRow::layout) layout,
                      decltype(OpRow::samples) samples) {
  return {.opcode = opcode,
          .traits = Trait::view | Trait::cheap,
          .infer = std::move(infer),
          .vjp = std::move(vjp),
          .decompose = {},
          .evaluate = evaluate_view,
          .cost = view_cost,
          .layout = std::move(layout),
          .samples = std::move(samples)};
}

inline OpSample view_sample(std::string name, Shape shape, Attrs attrs, DType dtype = DType::float32) {
  return {std::move(name), {{TensorType{dtype, shape, Device::cpu}, -2, 2}}, std::move(attrs), {}, dtype == DType::float32};
}

}  // namespace reprise
