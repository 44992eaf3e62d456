// SPDX-License-Identifier: Apache-2.0
#include "memory/dependencies.h"

#include <algorithm>

#include "base/error.h"

namespace reprise {
namespace {

/// Whether `to` can be reached from `from`.
bool reaches(const std::vector<std::vector<std::uint32_t>>& successors, std::uint32_t from, std::uint32_t to,
             std::vector<std::uint32_t>& mark, std::uint32_t stamp) {
  std::vector<std::uint32_t> stack = {from};
  mark[from] = stamp;
  while (!stack.empty()) {
    const std::uint32_t node = stack.back();
    stack.pop_back();
    if (node == to) return true;
    for (const std::uint32_t next : successors[node]) {
      if (mark[next] == stamp) continue;
      mark[next] = stamp;
      stack.push_back(next);
    }
  }
  return false;
}

std::vector<std::vector<std::uint32_t>> data_successors(const Trace& trace) {
  std::vector<std::vector<std::uint32_t>> successors(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    for (const ValueId input : trace.nodes[i].inputs) {
      const NodeId producer = trace[input].producer;
      if (!producer.valid()) continue;
      auto& list = successors[producer.index()];
      // Nodes are visited in order, so a repeated reader is the last one.
      if (list.empty() || list.back() != i) list.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return successors;
}

}  // namespace

bool may_overwrite(const Trace& trace, const StorageMap& storage, const Node& node, const Claim& claim, std::uint32_t output,
                   ValueId owner) {
  if (trace.type(owner).bytes() != trace.type(node.outputs[output]).bytes()) return false;
  for (std::uint32_t k = 0; k < node.inputs.size(); ++k) {
    const Place& place = storage[node.inputs[k]];
    if (place.owner != owner) continue;
    const TensorType& type = trace.type(node.inputs[k]);
    const bool whole = type.bytes() == trace.type(owner).bytes() && place.layout.offset == 0 &&
                       layout_satisfies(InputLayout::dense, type.shape, place.layout.strides);
    const bool named = std::find(claim.in_place.begin(), claim.in_place.end(), InPlacePair{k, output}) != claim.in_place.end();
    if (!whole || !named) return false;
  }
  return true;
}

DependencyGraph build_dependencies(const ClaimedTrace& claimed, const StorageMap& storage) {
  const Trace& trace = claimed.trace;
  DependencyGraph graph{data_successors(trace), std::vector<bool>(trace.donations.size(), true)};
  std::vector<std::vector<std::uint32_t>> readers(trace.values.size());  // by owner: nodes that read its storage
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (storage.shares(trace.nodes[i])) continue;
    for (const ValueId input : trace.nodes[i].inputs) {
      auto& list = readers[storage.owner(input).index()];
      if (list.empty() || list.back() != i) list.push_back(static_cast<std::uint32_t>(i));
    }
  }
  std::vector<bool> taken(trace.values.size(), false);
  std::vector<bool> given(trace.inputs.size(), false);
  std::vector<std::uint32_t> mark(trace.nodes.size(), 0);
  std::uint32_t stamp = 0;
  for (std::size_t d = 0; d < trace.donations.size(); ++d) {
    const Donation& donation = trace.donations[d];
    const TraceInput& input = trace.inputs.at(donation.input);
    const ValueId output = trace.outputs.at(donation.output);
    if (!is_persistent(input.role)) continue;
    REPRISE_CHECK(!given[donation.input], "an input is donated once: " + trace[input.value].name);
    given[donation.input] = true;
    REPRISE_CHECK(trace.type(input.value) == trace.type(output), "a donation keeps the type: " + trace[input.value].name);
    if (output == input.value) continue;
    const NodeId writer = trace[output].producer;
    const bool plain = writer.valid() && storage.owns(output) && !taken[output.index()];
    const auto produced_by = static_cast<std::uint32_t>(writer.value);
    bool fits = plain;
    for (const std::uint32_t reader : readers[input.value.index()]) {
      if (!fits) break;
      fits = reader == produced_by ? may_overwrite(trace, storage, trace[writer], claimed.claims[reader], trace[output].output, input.value)
                                   : !reaches(graph.successors, produced_by, reader, mark, ++stamp);
    }
    graph.carried[d] = fits;
    if (!fits) continue;
    taken[output.index()] = true;
    for (const std::uint32_t reader : readers[input.value.index()]) {
      auto& list = graph.successors[reader];
      if (reader != produced_by && std::find(list.begin(), list.end(), produced_by) == list.end()) list.push_back(produced_by);
    }
  }
  return graph;
}

}  // namespace reprise
