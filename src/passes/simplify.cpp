// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/error.h"
#include "passes/simplify_rules.h"

namespace reprise {
namespace {

bool concerns(const Rule& rule, Opcode opcode) {
  return rule.opcodes.empty() || std::find(rule.opcodes.begin(), rule.opcodes.end(), opcode) != rule.opcodes.end();
}

bool simplify_node(Rewriter& rewriter, const Node& node) {
  if (node.outputs.size() != 1 || !node.executor.empty() || !node.bodies.empty()) return false;
  const ValueId old = node.outputs[0];
  const bool needs_own_node = rewriter.is_output(old) || !rewriter.from()[old].tags.empty();
  const std::vector<ValueId> inputs = rewriter.map_all(node.inputs);
  const std::size_t made_from = rewriter.to().values.size();
  for (const Rule& rule : simplify_rules()) {
    if (!concerns(rule, node.opcode)) continue;
    const std::optional<ValueId> result = rule.apply({rewriter, node, inputs});
    if (!result) continue;
    REPRISE_CHECK(rewriter.to().type(*result) == rewriter.from().type(old),
                  fmt::format("rule '{}' changed the type of %{}", rule.name, rewriter.from()[old].name));
    if (result->index() >= made_from) {
      rewriter.take_over(old, *result);
    } else if (needs_own_node) {
      continue;
    } else {
      rewriter.replace(old, *result);
    }
    return true;
  }
  rewriter.copy(node, inputs);
  return true;
}

Trace simplify_nodes(const Trace& trace) { return has_in_place_nodes(trace) ? trace : rewrite(trace, simplify_node); }

}  // namespace

Trace simplify(const Trace& trace) { return at_every_depth(trace, simplify_nodes); }

std::vector<std::string_view> simplify_rule_names() {
  std::vector<std::string_view> names;
  for (const Rule& rule : simplify_rules()) names.push_back(rule.name);
  return names;
}

}  // namespace reprise
