// SPDX-License-Identifier: Apache-2.0
// The parts of one node as a trace of their own.
#pragma once

#include <span>
#include <vector>

#include "ir/trace.h"
#include "ops/builder.h"

namespace reprise {

/// Emits what `node` decomposes into on `inputs`, and returns its values. What does not make what the op infers, `outputs`, is its
/// author's error: see fail_op.
std::vector<ValueId> emit_parts(Builder& builder, const Node& node, std::span<const ValueId> inputs, std::span<const TensorType> outputs);

/// Returns the trace of what `node` decomposes into, on inputs of these types. InternalError when its op has no decomposition.
Trace decomposition(const Node& node, std::span<const TensorType> inputs);

}  // namespace reprise
