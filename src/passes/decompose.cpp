// SPDX-License-Identifier: Apache-2.0
#include "passes/decompose.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/decomposition.h"
#include "ops/op_table.h"
#include "passes/rewrite.h"

namespace reprise {
namespace {

constexpr int kMaxDepth = 16;  // of decompositions in decompositions

Trace decompose_chosen(const Trace& trace, const NodeChoice& chosen) {
  return rewrite(trace, [&](Rewriter& rewriter, const Node& node) {
    if (!chosen(node)) return false;
    const std::size_t fresh = rewriter.to().values.size();
    std::vector<TensorType> outputs;
    for (const ValueId output : node.outputs) outputs.push_back(trace.type(output));
    const std::vector<ValueId> made = emit_parts(rewriter.builder(), node, rewriter.map_all(node.inputs), outputs);
    rewriter.stand_in(node, made, fresh);
    return true;
  });
}

NodeChoice user_ops_with_parts(const Trace&) {
  return [](const Node& node) { return node.executor.empty() && compiled_as_parts(op_row(node.opcode)); };
}

}  // namespace

Trace decompose_nodes(const Trace& trace, const std::function<NodeChoice(const Trace&)>& choose) {
  Trace result = trace;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const NodeChoice chosen = choose(result);
    if (std::none_of(result.nodes.begin(), result.nodes.end(), chosen)) return result;
    result = decompose_chosen(result, chosen);
  }
  const NodeChoice chosen = choose(result);
  const auto left = std::find_if(result.nodes.begin(), result.nodes.end(), chosen);
  if (left == result.nodes.end()) return result;
  throw UserError(fmt::format("the decomposition of op '{}' leads back to itself; make it of simpler ops", opcode_name(left->opcode)));
}

Trace decompose_user_ops(const Trace& trace) {
  return at_every_depth(trace, [](const Trace& one) { return decompose_nodes(one, user_ops_with_parts); });
}

}  // namespace reprise
