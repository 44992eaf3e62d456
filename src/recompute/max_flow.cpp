// SPDX-License-Identifier: Apache-2.0
#include "recompute/max_flow.h"

#include <algorithm>

#include "base/error.h"

namespace reprise {

void FlowNetwork::add_edge(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_of_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({static_cast<std::uint32_t>(to), capacity});
  edges_of_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({static_cast<std::uint32_t>(from), 0});
}

bool FlowNetwork::build_levels(std::size_t source, std::size_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::size_t> queue = {source};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::size_t vertex = queue[head];
    for (const std::uint32_t e : edges_of_[vertex]) {
      const Edge& edge = edges_[e];
      if (edge.residual == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[vertex] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

/// Pushes flow along one path of rising levels; 0 when there is none left. Paths are walked without recursion: they can be
/// as long as the trace.
std::int64_t FlowNetwork::augment(std::size_t source, std::size_t sink) {
  std::vector<std::uint32_t> path;
  std::size_t vertex = source;
  while (vertex != sink) {
    std::uint32_t& next = next_[vertex];
    const std::vector<std::uint32_t>& out = edges_of_[vertex];
    while (next < out.size()) {
      const Edge& edge = edges_[out[next]];
      if (edge.residual > 0 && level_[edge.to] == level_[vertex] + 1) break;
      ++next;
    }
    if (next < out.size()) {
      path.push_back(out[next]);
      vertex = edges_[out[next]].to;
    } else if (path.empty()) {
      return 0;
    } else {
      level_[vertex] = -1;  // a dead end
      vertex = edges_[path.back() ^ 1U].to;
      path.pop_back();
    }
  }
  std::int64_t amount = kInfinite;
  for (const std::uint32_t e : path) amount = std::min(amount, edges_[e].residual);
  for (const std::uint32_t e : path) {
    if (edges_[e].residual < kInfinite) edges_[e].residual -= amount;
    if (edges_[e ^ 1U].residual < kInfinite) edges_[e ^ 1U].residual += amount;
  }
  return amount;
}

std::int64_t FlowNetwork::maximize(std::size_t source, std::size_t sink) {
  std::int64_t total = 0;
  while (build_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (const std::int64_t amount = augment(source, sink)) {
      total += amount;
      REPRISE_CHECK(total < kInfinite, "a cut of infinite capacity");
    }
  }
  return total;
}

std::vector<bool> FlowNetwork::sink_side(std::size_t sink) const {
  std::vector<bool> reaches(edges_of_.size(), false);
  reaches[sink] = true;
  std::vector<std::size_t> queue = {sink};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const std::uint32_t e : edges_of_[queue[head]]) {
      const std::size_t from = edges_[e].to;  // the edge e ^ 1 leads from there to here
      if (reaches[from] || edges_[e ^ 1U].residual == 0) continue;
      reaches[from] = true;
      queue.push_back(from);
    }
  }
  return reaches;
}

}  // namespace reprise
