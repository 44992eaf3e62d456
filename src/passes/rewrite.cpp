// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ir/name_table.h"

namespace reprise {

Rewriter::Rewriter(const Trace& from)
    : from_(from), builder_(to_), map_(from.values.size()), is_output_(from.values.size(), false) {
  to_.name = from.name;
  to_.donations = from.donations;
  to_.values.reserve(from.values.size());
  to_.nodes.reserve(from.nodes.size());
  to_.reserve_names(from.values.size());
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

ValueId Rewriter::copy_of(ValueId value, std::string_view hint) { return builder_.emit(op::copy, {value}, NoAttrs{}, hint); }

void Rewriter::stand_in(const Node& old, std::span<const ValueId> made, std::size_t fresh) {
  REPRISE_CHECK(made.size() == old.outputs.size(),
                fmt::format("{} values for the {} outputs of {}", made.size(), old.outputs.size(), opcode_name(old.opcode)));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const ValueId output = old.outputs[i];
    const bool first =
        std::find(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(i), made[i]) == made.begin() + static_cast<std::ptrdiff_t>(i);
    if (made[i].index() >= fresh && first) {
      take_over(output, made[i]);
    } else if (is_output(output) || !from_[output].tags.empty()) {
      take_over(output, copy_of(made[i], from_[output].name));
    } else {
      replace(output, made[i]);
    }
  }
}

void Rewriter::keep_output_names() {
  std::vector<bool> donated(from_.outputs.size(), false);
  for (const Donation& donation : from_.donations) donated[donation.output] = true;
  std::vector<bool> named(to_.values.size(), false);  // by new value: it is an output with its name already
  NameTable holders;  // of what the new values are called: their indices, made when first asked; a value may have left its name
  const auto enter = [&](ValueId value) {
    const auto index = static_cast<std::uint32_t>(value.index());
    if (!holders.insert(to_[value].name, index)) holders.set(to_[value].name, index);
  };
  const auto holder_of = [&](const std::string& name) {
    if (holders.empty()) {
      holders.reserve(to_.values.size());
      for (std::size_t i = 0; i < to_.values.size(); ++i) enter(ValueId(i));
    }
    const std::optional<std::uint32_t> found = holders.find(name);
    return found && to_.values[*found].name == name ? ValueId(*found) : ValueId();
  };
  const auto mark = [&](ValueId value) {
    named.resize(to_.values.size(), false);  // copies are made here
    named[value.index()] = true;
  };
  const auto keep = [&](std::size_t o) {
    const Value& old = from_[from_.outputs[o]];
    ValueId& value = to_.outputs[o];
    if (to_[value].name != old.name) {
      const ValueId holder = holder_of(old.name);
      if (holder.valid() && !to_[holder].producer.valid()) return;
      if (named[value.index()] || !to_[value].producer.valid()) {
        if (old.producer.valid()) at(from_[old.producer]);
        value = copy_of(value, old.name);
      }
      if (holder.valid()) {
        to_[holder].name = to_[value].name;
        enter(holder);
      }
      to_[value].name = old.name;
      enter(value);
    }
    mark(value);
  };
  // Donated ones first: they must stay the very value that takes the input's place.
  for (const bool wanted : {true, false}) {
    for (std::size_t o = 0; o < donated.size(); ++o) {
      if (donated[o] == wanted) keep(o);
    }
  }
}

Trace Rewriter::finish() {
  to_.outputs = map_all(from_.outputs);
  keep_output_names();
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

Trace at_every_depth(const Trace& trace, const std::function<Trace(const Trace&)>& pass) {
  const bool any = std::any_of(trace.nodes.begin(), trace.nodes.end(), [](const Node& node) { return !node.bodies.empty(); });
  return any ? pass(in_sub_traces(trace, pass)) : pass(trace);
}

bool has_in_place_nodes(const Trace& trace) {
  return std::any_of(trace.nodes.begin(), trace.nodes.end(), [](const Node& node) { return node.in_place; });
}

}  // namespace reprise
