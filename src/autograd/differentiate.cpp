// SPDX-License-Identifier: Apache-2.0
#include "autograd/differentiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "autograd/cotangents.h"
#include "base/error.h"
#include "base/glob.h"
#include "ops/builders.h"
#include "ops/op_table.h"
#include "passes/decompose.h"

namespace reprise {
namespace {

bool differentiable(const Trace& trace, ValueId value) { return is_floating(trace.type(value).dtype); }

/// Which values depend on a wrt through floating values: forward reachability over the first `node_count` nodes.
std::vector<bool> reached_from(const Trace& trace, std::span<const ValueId> wrt) {
  std::vector<bool> reached(trace.values.size(), false);
  for (const ValueId value : wrt) reached[value.index()] = true;
  for (const Node& node : trace.nodes) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return reached[in.index()]; });
    if (!any) continue;
    for (const ValueId out : node.outputs) reached[out.index()] = differentiable(trace, out);
  }
  return reached;
}

void check_preconditions(const Trace& forward, std::span<const ValueId> wrt, std::size_t loss) {
  for (const Node& node : forward.nodes) {
    REPRISE_CHECK(!node.in_place, fmt::format("differentiate met in-place op {}_; functionalize runs first", opcode_name(node.opcode)));
    REPRISE_CHECK(!has_trait(op_row(node.opcode).traits, Trait::random),
                  fmt::format("differentiate met random op {}; the rng pass runs first", opcode_name(node.opcode)));
  }
  if (loss >= forward.outputs.size()) {
    throw UserError(fmt::format("the trace has no output to differentiate: output {} of {}", loss, forward.outputs.size()));
  }
  const TensorType& type = forward.type(forward.outputs[loss]);
  if (!is_floating(type.dtype) || type.shape.numel() != 1) {
    throw UserError(fmt::format("only a floating scalar can be differentiated, reduce the loss first: {}", type.str()));
  }
  for (const ValueId value : wrt) {
    const Value& input = forward[value];
    if (input.producer.valid() || !is_floating(input.type.dtype)) {
      throw UserError(fmt::format("gradients are taken with respect to floating inputs only: {} {}", input.type.str(), input.name));
    }
  }
}

/// `forward` with the decomposition of every op that has one, has no vjp, and lies on a gradient's path.
Trace with_differentiable_ops(const Trace& forward, std::span<const ValueId> wrt) {
  return decompose_nodes(forward, [wrt](const Trace& trace) {
    return [reached = reached_from(trace, wrt)](const Node& node) {
      const OpRow& row = op_row(node.opcode);
      return !row.vjp && row.decompose &&
             std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) { return reached[out.index()]; });
    };
  });
}

/// Whether the node reads a range of one dimension. Where the extent is data, what is left of it is not known here.
bool takes_a_part(const Trace& trace, const Node& node) {
  if (node.opcode != op::slice) return false;
  const auto& attrs = node.as<SliceAttrs>();
  const Shape& whole = trace.type(node.inputs[0]).shape;
  const Dim dim = whole.dim(whole.wrap(attrs.dim));
  return attrs.step == 1 && !dim.bounded() && attrs.stop - attrs.start != dim.extent;
}

void differentiate_node(Builder& b, const Node& node, const std::vector<bool>& reached, Cotangents& cotangents) {
  const OpRow& row = op_row(node.opcode);
  std::vector<ValueId> flowing;
  bool any = false;
  for (const ValueId out : node.outputs) {
    flowing.push_back(cotangents.of(out));
    any = any || flowing.back().valid();
  }
  const std::size_t n_inputs = node.inputs.size();
  const auto needs = std::make_unique<bool[]>(n_inputs);
  bool wanted = false;
  for (std::size_t i = 0; i < n_inputs; ++i) {
    needs[i] = reached[node.inputs[i].index()];
    wanted = wanted || needs[i];
  }
  if (!any || !wanted) return;
  if (!row.vjp) {
    if (!is_user_op(node.opcode)) return;
    throw UserError(fmt::format("the loss depends on parameters through op '{}', which has no vjp; give it one (of invalid ids where no gradient is meant to flow)",
                                opcode_name(node.opcode)));
  }

  b.context = {Phase::backward, node.module, node.region, node.source, {{TagKind::prefer_recompute, "autograd"}}};
  if (takes_a_part(b.trace(), node)) {
    const auto attrs = node.as<SliceAttrs>();
    cotangents.add_part(node.inputs[0], b.shape(node.inputs[0]).wrap(attrs.dim), attrs.start, attrs.stop, flowing[0]);
    return;
  }
  VjpContext context{b, node, flowing, {needs.get(), n_inputs}};
  const std::vector<ValueId> contributions = row.vjp(context);
  if (contributions.size() != n_inputs) {
    fail_op(node.opcode, fmt::format("returns in vjp {} cotangents for {} inputs", contributions.size(), n_inputs));
  }
  for (std::size_t i = 0; i < n_inputs; ++i) {
    if (!needs[i] || !contributions[i].valid()) continue;
    const TensorType made = b.type(contributions[i]);
    const TensorType type = b.type(node.inputs[i]);
    if (made != type) fail_op(node.opcode, fmt::format("returns in vjp {} for input {}, {}", made.str(), i, type.str()));
    cotangents.add(node.inputs[i], contributions[i]);
  }
}

}  // namespace

JointTrace differentiate(const Trace& forward, std::span<const ValueId> wrt, std::size_t loss) {
  check_preconditions(forward, wrt, loss);
  JointTrace joint;
  joint.trace = with_differentiable_ops(forward, wrt);
  joint.wrt.assign(wrt.begin(), wrt.end());
  Trace& trace = joint.trace;
  const std::size_t forward_nodes = trace.nodes.size();
  const std::vector<bool> reached = reached_from(trace, wrt);

  Builder b(trace);
  Cotangents cotangents(b, trace.values.size());
  b.context.phase = Phase::backward;
  b.context.tags = {{TagKind::prefer_recompute, "autograd"}};
  const ValueId out = trace.outputs[loss];
  if (reached[out.index()]) {
    const TensorType type = trace.type(out);
    cotangents.add(out, ops::full(b, type.shape, type.dtype, 1));
  }
  for (std::size_t n = forward_nodes; n-- > 0;) {
    const Node node = trace.nodes[n];  // a copy: emitting moves the node list
    differentiate_node(b, node, reached, cotangents);
  }
  for (const ValueId value : wrt) {
    b.context = {Phase::backward, {}, {}, {}, {}};
    const ValueId gradient = cotangents.of(value);
    joint.gradients.push_back(gradient.valid() ? gradient : ops::zeros_like(b, value));
    trace.outputs.push_back(joint.gradients.back());
  }
  return joint;
}

std::vector<ValueId> trainable_parameters(const Trace& forward, std::string_view globs) {
  std::vector<bool> chosen(forward.values.size(), false);
  std::string_view rest = globs;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view pattern = rest.substr(0, comma);
    bool found = false;
    for (const TraceInput& input : forward.inputs) {
      if (input.role != Role::param || !glob_matches(pattern, forward[input.value].name)) continue;
      chosen[input.value.index()] = true;
      found = true;
    }
    if (!found) throw UserError(fmt::format("no parameter matches the pattern '{}' of trainable", pattern));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::vector<ValueId> parameters;
  for (const TraceInput& input : forward.inputs) {
    if (chosen[input.value.index()]) parameters.push_back(input.value);
  }
  return parameters;
}

}  // namespace reprise
