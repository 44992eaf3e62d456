// SPDX-License-Identifier: Apache-2.0
// What running nodes costs, by the op table.
#pragma once

#include <span>

#include "ops/row.h"

namespace reprise {

/// One run of a node: its op's `cost`, or where the row has none the sum over the parts it decomposes into.
Cost node_cost(const Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs);

/// One run of `node`, a node of `trace`.
Cost node_cost(const Trace& trace, const Node& node);

/// All nodes of a trace, added up.
Cost trace_cost(const Trace& trace);

}  // namespace reprise
