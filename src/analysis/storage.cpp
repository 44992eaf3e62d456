// SPDX-License-Identifier: Apache-2.0
#include "analysis/storage.h"

#include <algorithm>

#include "base/error.h"
#include "ops/op_table.h"

namespace reprise {

Place own_place(const Trace& trace, ValueId value) { return {value, {0, trace.type(value).shape.dense_strides()}}; }

std::optional<Place> view_place(const Trace& trace, const Node& node, const Place& input) {
  const OpRow& row = op_row(node.opcode);
  if (!has_trait(row.traits, Trait::view) || !row.layout) return std::nullopt;
  std::optional<Layout> layout = row.layout(node, trace.type(node.inputs.at(0)), input.layout);
  if (!layout) return std::nullopt;
  return Place{input.owner, std::move(*layout)};
}

StorageMap::StorageMap(const Trace& trace) : places_(trace.values.size()) {
  for (const TraceInput& input : trace.inputs) places_[input.value.index()] = own_place(trace, input.value);
  for (const Node& node : trace.nodes) {
    REPRISE_CHECK(!node.in_place, "storage is analysed after in-place nodes have been made pure");
    for (const ValueId output : node.outputs) places_[output.index()] = own_place(trace, output);
    if (node.inputs.empty() || node.outputs.size() != 1) continue;
    if (auto place = view_place(trace, node, places_[node.inputs[0].index()])) {
      places_[node.outputs[0].index()] = std::move(*place);
    }
  }
}

std::vector<Lifetime> storage_lifetimes(const Trace& trace, const StorageMap& storage) {
  std::vector<Lifetime> by_value(trace.values.size());
  const auto touch = [&](ValueId value, std::int64_t position) {
    std::int64_t& last = by_value[storage.owner(value).index()].last;
    last = std::max(last, position);
  };
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    const ValueId id(i);
    const NodeId producer = trace[id].producer;
    const std::int64_t first = producer.valid() ? static_cast<std::int64_t>(producer.index()) : -1;
    by_value[i] = {id, trace.type(id).bytes(), first, first};
  }
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (storage.shares(trace.nodes[i])) continue;  // a view reads nothing; its readers do
    for (const ValueId input : trace.nodes[i].inputs) touch(input, static_cast<std::int64_t>(i));
  }
  for (const ValueId output : trace.outputs) touch(output, static_cast<std::int64_t>(trace.nodes.size()));
  std::vector<Lifetime> lifetimes;
  for (const Lifetime& lifetime : by_value) {
    if (storage.owns(lifetime.owner)) lifetimes.push_back(lifetime);
  }
  return lifetimes;
}

}  // namespace reprise
