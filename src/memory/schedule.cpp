// SPDX-License-Identifier: Apache-2.0
#include "memory/schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "analysis/storage.h"
#include "base/error.h"
#include "memory/dependencies.h"

namespace reprise {
namespace {

/// Kahn's algorithm: of the nodes that may run, the earliest update, else the earliest node.
std::vector<std::uint32_t> forward_order(const Trace& trace, const DependencyGraph& graph) {
  const std::size_t count = trace.nodes.size();
  std::vector<std::uint32_t> waiting(count, 0);
  for (const auto& successors : graph.successors) {
    for (const std::uint32_t node : successors) ++waiting[node];
  }
  using Key = std::pair<int, std::uint32_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  const auto offer = [&](std::uint32_t node) { ready.push({trace.nodes[node].phase == Phase::update ? 0 : 1, node}); };
  for (std::uint32_t node = 0; node < count; ++node) {
    if (waiting[node] == 0) offer(node);
  }
  std::vector<std::uint32_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    const std::uint32_t node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (const std::uint32_t next : graph.successors[node]) {
      if (--waiting[next] == 0) offer(next);
    }
  }
  REPRISE_CHECK(order.size() == count, "the dependencies of a trace have a circle");
  return order;
}

/// Nodes whose inputs cost nothing to keep: constants, and what is made of constants and persistent inputs alone.
std::vector<bool> sinkable_nodes(const Trace& trace) {
  std::vector<bool> lasting(trace.values.size(), false);
  for (const TraceInput& input : trace.inputs) lasting[input.value.index()] = is_persistent(input.role);
  std::vector<bool> sinkable(trace.nodes.size(), false);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const Node& node = trace.nodes[i];
    sinkable[i] = node.phase != Phase::update &&
                  std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return lasting[v.index()]; });
    for (const ValueId output : node.outputs) lasting[output.index()] = sinkable[i];
  }
  return sinkable;
}

/// Moves sinkable nodes to just before the first node that must follow them.
std::vector<std::uint32_t> sink(const Trace& trace, const DependencyGraph& graph, const std::vector<std::uint32_t>& order) {
  const std::vector<bool> sinkable = sinkable_nodes(trace);
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  // Backwards, so that what a constant feeds has sunk before it.
  std::vector<std::vector<std::uint32_t>> before(order.size());  // sunk nodes by the place they go before, last one first
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t node = order[i];
    std::size_t first = order.size();
    for (const std::uint32_t next : graph.successors[node]) first = std::min(first, place[next]);
    if (!sinkable[node] || first == order.size()) continue;
    place[node] = first;
    before[first].push_back(node);
  }
  std::vector<std::uint32_t> result;
  result.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    result.insert(result.end(), before[i].rbegin(), before[i].rend());
    if (place[order[i]] == i) result.push_back(order[i]);
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> schedule(const ClaimedTrace& claimed) {
  const StorageMap storage(claimed.trace);
  const DependencyGraph graph = build_dependencies(claimed, storage);
  for (std::size_t d = 0; d < graph.carried.size(); ++d) {
    REPRISE_CHECK(graph.carried[d], "a donation has no order; the claim stage copies such outputs");
  }
  return sink(claimed.trace, graph, forward_order(claimed.trace, graph));
}

void validate_schedule(const ClaimedTrace& claimed, std::span<const std::uint32_t> order) {
  const Trace& trace = claimed.trace;
  REPRISE_CHECK(order.size() == trace.nodes.size(), "a schedule holds every node");
  std::vector<std::int64_t> place(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    REPRISE_CHECK(order[i] < order.size() && place[order[i]] == -1, "a schedule holds every node once");
    place[order[i]] = static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> last_read(trace.values.size(), -1);
  const StorageMap storage(trace);
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    for (const ValueId input : trace.nodes[n].inputs) {
      const NodeId producer = trace[input].producer;
      REPRISE_CHECK(!producer.valid() || place[producer.index()] < place[n], "a node runs before what it reads: " + trace[input].name);
      std::int64_t& last = last_read[storage.owner(input).index()];
      if (!storage.shares(trace.nodes[n])) last = std::max(last, place[n]);
    }
  }
  for (const Donation& donation : trace.donations) {
    const TraceInput& input = trace.inputs[donation.input];
    const ValueId output = trace.outputs[donation.output];
    if (!is_persistent(input.role) || output == input.value) continue;
    const NodeId writer = trace[output].producer;
    REPRISE_CHECK(writer.valid() && place[writer.index()] >= last_read[input.value.index()],
                  "a donated input is overwritten before its last reader: " + trace[input.value].name);
  }
}

ClaimedTrace apply_schedule(const ClaimedTrace& claimed, std::span<const std::uint32_t> order) {
  const Trace& from = claimed.trace;
  ClaimedTrace result{from.frame(), {}};
  Trace& to = result.trace;
  std::vector<ValueId> renamed(from.values.size());
  to.values.reserve(from.values.size());
  to.nodes.reserve(from.nodes.size());
  result.claims.reserve(claimed.claims.size());
  const auto move_value = [&](ValueId old, NodeId producer) {
    renamed[old.index()] = ValueId(to.values.size());
    to.values.push_back(from[old]);
    to.values.back().producer = producer;
    return renamed[old.index()];
  };
  for (TraceInput& input : to.inputs) input.value = move_value(input.value, NodeId());
  for (const std::uint32_t old : order) {
    Node node = from.nodes[old];
    for (ValueId& input : node.inputs) {
      input = renamed[input.index()];
      REPRISE_CHECK(input.valid(), "a schedule keeps producers before readers");
    }
    for (ValueId& output : node.outputs) output = move_value(output, NodeId(to.nodes.size()));
    to.nodes.push_back(std::move(node));
    result.claims.push_back(claimed.claims[old]);
  }
  for (ValueId& output : to.outputs) output = renamed[output.index()];
  return result;
}

}  // namespace reprise
