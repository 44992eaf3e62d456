// SPDX-License-Identifier: Apache-2.0
// What the files of ops that take indices share: samples, checked indices, the cost of reading some rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/eval_context.h"
#include "ops/row_parts.h"

namespace reprise {

inline SampleInput numbers(const Shape& shape, DType dtype = DType::float32) { return {TensorType{dtype, shape, Device::cpu}, -2, 2}; }
inline SampleInput indices(const Shape& shape, std::int64_t high) { return integer_input(shape, 0, high); }

/// Reads index input i; UserError unless each is in [0, extent).
std::vector<std::int64_t> load_indices(const EvalContext& context, std::size_t i, std::int64_t extent);

/// Only the rows that are named are read.
inline Cost gathering_cost(const Node&, TypeSpan inputs, TypeSpan outputs) {
  Cost cost = streaming_cost(inputs.subspan(1), outputs);
  cost.bytes_read += static_cast<double>(outputs[0].bytes());
  return cost;
}

}  // namespace reprise
