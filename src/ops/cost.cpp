// SPDX-License-Identifier: Apache-2.0
#include "ops/cost.h"

#include <vector>

#include "ops/decomposition.h"
#include "ops/op_table.h"

namespace reprise {

Cost node_cost(const Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  const OpRow& row = op_row(node.opcode);
  if (row.cost) return row.cost(node, inputs, outputs);
  return trace_cost(decomposition(node, inputs));
}

Cost node_cost(const Trace& trace, const Node& node) {
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  for (const ValueId input : node.inputs) inputs.push_back(trace.type(input));
  for (const ValueId output : node.outputs) outputs.push_back(trace.type(output));
  return node_cost(node, inputs, outputs);
}

Cost trace_cost(const Trace& trace) {
  Cost total;
  for (const Node& node : trace.nodes) {
    const Cost cost = node_cost(trace, node);
    total.flops += cost.flops;
    total.bytes_read += cost.bytes_read;
    total.bytes_written += cost.bytes_written;
  }
  return total;
}

}  // namespace reprise
