// SPDX-License-Identifier: Apache-2.0
#include "passes/cse.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/attrs_fields.h"
#include "ops/op_table.h"
#include "passes/rewrite.h"

namespace reprise {
namespace {

std::size_t hash_node(const Node& node, const std::vector<ValueId>& inputs) {
  std::size_t hash = attrs_hash(node.attrs) * 31 + node.opcode.index;
  for (const ValueId input : inputs) hash = hash * 0x9E3779B97F4A7C15u + input.value;
  return hash;
}

/// Whether running the node twice gives the same values as running it once.
bool repeatable(const Node& node) {
  return node.phase != Phase::recompute && node.bodies.empty() && !node.outputs.empty() &&
         !has_trait(op_row(node.opcode).traits, Trait::random | Trait::effect | Trait::collective);
}

bool has_output(const Rewriter& rewriter, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return rewriter.is_output(output); });
}

/// A value that costs no more than reading it back is made anew in each phase, rather than kept alive between them.
bool worth_keeping(const Node& kept, const Node& node) {
  if (kept.phase == node.phase) return true;
  const Trait traits = op_row(node.opcode).traits;
  return !node.inputs.empty() && (has_trait(traits, Trait::view) || !has_trait(traits, Trait::cheap));
}

/// Whether `kept`, in the new trace, can stand for the old `node`: whatever was wished of the old values, they have.
bool stands_for(const Trace& to, const Node& kept, const Trace& from, const Node& node, const std::vector<ValueId>& inputs) {
  if (kept.opcode != node.opcode || kept.inputs != inputs || kept.region != node.region || kept.executor != node.executor ||
      kept.outputs.size() != node.outputs.size() || !worth_keeping(kept, node) || !attrs_equal(kept.attrs, node.attrs)) {
    return false;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::vector<Tag>& tags = from[node.outputs[i]].tags;
    if (!tags.empty() && tags != to[kept.outputs[i]].tags) return false;
  }
  return true;
}

Trace merge(const Trace& trace) {
  if (has_in_place_nodes(trace)) return trace;  // two reads of one storage need not be equal
  std::unordered_map<std::size_t, std::vector<NodeId>> seen;
  return rewrite(trace, [&](Rewriter& rewriter, const Node& node) {
    if (!repeatable(node)) return false;
    const std::vector<ValueId> inputs = rewriter.map_all(node.inputs);
    auto& candidates = seen[hash_node(node, inputs)];
    if (!has_output(rewriter, node)) {
      for (const NodeId candidate : candidates) {
        const Node& kept = rewriter.to()[candidate];
        if (!stands_for(rewriter.to(), kept, trace, node, inputs)) continue;
        for (std::size_t i = 0; i < node.outputs.size(); ++i) rewriter.replace(node.outputs[i], kept.outputs[i]);
        return true;
      }
    }
    candidates.push_back(rewriter.copy(node, inputs));
    return true;
  });
}

}  // namespace

Trace merge_common_subexpressions(const Trace& trace) { return at_every_depth(trace, merge); }

}  // namespace reprise
