// SPDX-License-Identifier: Apache-2.0
// What the files of ops that move elements share: rows and their samples, and element sizes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ops/eval_context.h"
#include "ops/row_parts.h"

namespace reprise {

/// A row of an op that reads its inputs and writes its outputs once. It has no decomposition.
inline OpRow moving_row(Opcode opcode, Trait traits, decltype(OpRow::infer) infer, decltype(OpRow::vjp) vjp,
                        decltype(OpRow::evaluate) evaluate, decltype(OpRow::samples) samples) {
  return {.opcode = opcode,
          .traits = traits,
          .infer = std::move(infer),
          .vjp = std::move(vjp),
          .decompose = {},
          .evaluate = std::move(evaluate),
          .cost = [](const Node&, TypeSpan inputs, TypeSpan outputs) { return streaming_cost(inputs, outputs); },
          .layout = {},
          .samples = std::move(samples)};
}

/// Inputs of these shapes and one dtype.
inline OpSample moving_sample(std::string name, std::vector<Shape> shapes, Attrs attrs, DType dtype = DType::float32) {
  OpSample result{std::move(name), {}, std::move(attrs), {}, dtype == DType::float32};
  for (const Shape& shape : shapes) result.inputs.push_back({TensorType{dtype, shape, Device::cpu}, -2, 2});
  return result;
}

/// Bytes of an element of output 0.
inline std::size_t element_size(const EvalContext& context) { return dtype_size(context.out_type().dtype); }

}  // namespace reprise
