// SPDX-License-Identifier: Apache-2.0
// Collectives on a named group. In one process only a group of one can be evaluated: it is the identity.
#include <fmt/format.h>

#include "base/error.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

TensorTypes infer_collective(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  const auto& attrs = node.as<CollectiveAttrs>();
  require_types(attrs.size >= 1, node, inputs, fmt::format("group {} must have a member at least, not {}", attrs.group, attrs.size));
  return {inputs[0]};
}

void evaluate_collective(EvalContext& context) {
  const auto& attrs = context.node().as<CollectiveAttrs>();
  if (attrs.size != 1) {
    throw UserError(fmt::format("{}: group {} has {} members, but one process evaluates alone; run it with an executor that has the group",
                                opcode_name(context.node().opcode), attrs.group, attrs.size));
  }
  context.copy_first_input();
}

OpRow collective_row(Opcode opcode) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::collective | Trait::never_recompute;
  row.infer = infer_collective;
  row.evaluate = evaluate_collective;
  row.cost = cost_per_input(1);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("group_of_one", {real_input(Shape{2, 3})}, CollectiveAttrs{"data", 1}),
                                 op_sample("scalar", {real_input(Shape{})}, CollectiveAttrs{"data", 1})};
  };
  return row;
}

}  // namespace

std::vector<OpRow> collective_rows() {
  // every member's loss counts, so the cotangent of a sum over the group is the sum of its members' cotangents
  OpRow whole = collective_row(op::all_reduce);
  whole.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    if (!c.gy().valid()) return {ValueId()};
    return {c.b.emit(op::all_reduce, {c.gy()}, c.node.attrs)};
  };
  OpRow start = collective_row(op::all_reduce_start);
  start.vjp = whole.vjp;
  OpRow wait;
  wait.opcode = op::wait;
  wait.traits = Trait::collective | Trait::never_recompute;
  wait.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    return {inputs[0]};
  };
  wait.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {c.gy()}; };
  wait.evaluate = [](EvalContext& context) { context.copy_first_input(); };
  wait.cost = [](const Node&, TypeSpan, TypeSpan) { return Cost{}; };
  wait.samples = [] { return std::vector<OpSample>{op_sample("plain", {real_input(Shape{2, 3})})}; };
  return {whole, start, wait};
}

}  // namespace reprise
