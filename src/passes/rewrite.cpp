// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace reprise {

Rewriter::Rewriter(const Trace& from)
    : from_(from), builder_(to_), map_(from.values.size()), is_output_(from.values.size(), false) {
  to_.name = from.name;
  to_.donations = from.donations;
  for (const Value& value : from.values) to_.reserve_name(value.name);  // so that new values never take an old name
  for (const TraceInput& input : from.inputs) {
    const Value& old = from[input.value];
    const ValueId id(to_.values.size());
    to_.values.push_back({old.type, old.name, old.tags, NodeId(), static_cast<std::uint32_t>(to_.inputs.size())});
    to_.inputs.push_back({id, input.role});
    map_[input.value.index()] = id;
  }
  for (const ValueId output : from.outputs) is_output_[output.index()] = true;
}

ValueId Rewriter::map(ValueId old) const {
  const ValueId id = map_[old.index()];
  REPRISE_CHECK(id.valid(), fmt::format("nothing stands for %{} of trace '{}' yet", from_[old].name, from_.name));
  return id;
}

std::vector<ValueId> Rewriter::map_all(std::span<const ValueId> olds) const {
  std::vector<ValueId> result;
  result.reserve(olds.size());
  for (const ValueId old : olds) result.push_back(map(old));
  return result;
}

void Rewriter::at(const Node& old) { builder_.context = {old.phase, old.module, old.region, old.source, {}}; }

NodeId Rewriter::copy(const Node& old, std::vector<ValueId> inputs) {
  Node node = old;
  node.inputs = std::move(inputs);
  return copy_changed(old, std::move(node));
}

NodeId Rewriter::copy_changed(const Node& old, Node changed) {
  const NodeId id(to_.nodes.size());
  changed.outputs.clear();
  for (std::size_t i = 0; i < old.outputs.size(); ++i) {
    const Value& value = from_[old.outputs[i]];
    const ValueId output(to_.values.size());
    to_.values.push_back({value.type, value.name, value.tags, id, static_cast<std::uint32_t>(i)});
    changed.outputs.push_back(output);
    map_[old.outputs[i].index()] = output;
  }
  to_.nodes.push_back(std::move(changed));
  return id;
}

void Rewriter::take_over(ValueId old, ValueId made) {
  to_[made].name = from_[old].name;
  to_[made].tags = from_[old].tags;
  map_[old.index()] = made;
}

Trace Rewriter::finish() {
  to_.outputs = map_all(from_.outputs);
  return std::move(to_);
}

Trace rewrite(const Trace& from, const std::function<bool(Rewriter&, const Node&)>& visit) {
  Rewriter rewriter(from);
  for (const Node& node : from.nodes) {
    rewriter.at(node);
    if (!visit(rewriter, node)) rewriter.copy(node);
  }
  return rewriter.finish();
}

Trace renumber(const Trace& trace) {
  return rewrite(trace, [](Rewriter&, const Node&) { return false; });
}

Trace in_sub_traces(const Trace& trace, const std::function<Trace(const Trace&)>& pass) {
  Trace result = trace;
  for (Node& node : result.nodes) {
    for (Trace& body : node.bodies) body = pass(in_sub_traces(body, pass));
  }
  return result;
}

bool has_in_place_nodes(const Trace& trace) {
  return std::any_of(trace.nodes.begin(), trace.nodes.end(), [](const Node& node) { return node.in_place; });
}

}  // namespace reprise
