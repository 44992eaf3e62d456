// SPDX-License-Identifier: Apache-2.0
// Runs any trace node by node by the op table's `evaluate`: the oracle of every executor, and in float64 of accuracy.
// Views share storage as their `layout` says, so that an in-place node is seen through every view of what it writes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "interpreter/host_tensor.h"
#include "ir/trace.h"
#include "ops/eval_context.h"

namespace reprise {

struct InterpretOptions {
  /// Called after every node of the outermost trace with the dense values of its outputs, to find where a NaN came from.
  std::function<void(const Trace& trace, NodeId node, std::span<const HostTensor> outputs)> observe;
};

/// Returns the trace's outputs. `inputs`: one per trace input, in order; they are never written. UserError when they do not
/// fit, and when the trace holds a draw that needs the generator (run the rng pass first).
std::vector<HostTensor> interpret(const Trace& trace, std::span<const HostTensor> inputs, const InterpretOptions& options = {});

/// Runs one node on dense arrays by its op's `evaluate`, or by its decomposition, with a workspace of the size that the row asks for.
void evaluate_node(const Node& node, std::span<const ArrayRef> inputs, std::span<const ArrayRef> outputs, std::span<std::byte> workspace);
/// The same with a workspace of its own.
void evaluate_node(const Node& node, std::span<const ArrayRef> inputs, std::span<const ArrayRef> outputs);

}  // namespace reprise
