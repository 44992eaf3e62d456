// SPDX-License-Identifier: Apache-2.0
#include "passes/dce.h"

#include <vector>

#include "ops/op_table.h"
#include "passes/rewrite.h"

namespace reprise {
namespace {

Trace without_dead_nodes(const Trace& trace) {
  std::vector<bool> needed(trace.values.size(), false);
  std::vector<bool> live(trace.nodes.size(), false);
  for (const ValueId output : trace.outputs) needed[output.index()] = true;
  for (std::size_t n = trace.nodes.size(); n-- > 0;) {
    const Node& node = trace.nodes[n];
    live[n] = node.in_place || has_trait(op_row(node.opcode).traits, Trait::random | Trait::effect);
    for (const ValueId output : node.outputs) live[n] = live[n] || needed[output.index()];
    if (!live[n]) continue;
    for (const ValueId input : node.inputs) needed[input.index()] = true;
  }
  Rewriter rewriter(trace);
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    if (live[n]) rewriter.copy(trace.nodes[n]);
  }
  return rewriter.finish();
}

}  // namespace

Trace eliminate_dead_code(const Trace& trace) { return at_every_depth(trace, without_dead_nodes); }

}  // namespace reprise
