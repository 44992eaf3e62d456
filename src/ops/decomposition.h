// SPDX-License-Identifier: Apache-2.0
// The parts of one node as a trace of their own.
#pragma once

#include <span>

#include "ir/trace.h"

namespace reprise {

/// Returns the trace of what `node` decomposes into, on inputs of these types. InternalError when its op has no decomposition, or
/// one that does not make what the op infers.
Trace decomposition(const Node& node, std::span<const TensorType> inputs);

}  // namespace reprise
