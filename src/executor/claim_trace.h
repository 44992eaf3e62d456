// SPDX-License-Identifier: Apache-2.0
// The claim stage: every node that computes is given to the first executor that accepts it, and the copies that layouts,
// outputs and donations need are made explicit.
#pragma once

#include <span>
#include <vector>

#include "analysis/claim.h"
#include "executor/executor.h"

namespace reprise {

/// Executors in the order they are asked.
using ExecutorList = std::vector<const Executor*>;

/// Gives the node to the first executor that accepts it: marks it and returns the claim. UserError when none does.
Claim claim_node(Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs, const ExecutorList& executors,
                 const Target& target, int threads);

/// Claims a pure trace. Views that share storage are marked "view". UserError naming the node when no executor accepts it.
ClaimedTrace claim_trace(const Trace& trace, const ExecutorList& executors, const Target& target, int threads);

}  // namespace reprise
