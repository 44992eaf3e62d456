// SPDX-License-Identifier: Apache-2.0
// Minimum cuts of small random networks against all cuts there are.
#include "recompute/max_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/expect_error.h"

namespace reprise {
namespace {

struct Edge {
  std::size_t from;
  std::size_t to;
  std::int64_t capacity;
};

/// Capacity of the edges that lead from outside `sink_side` into it.
std::int64_t cut(const std::vector<Edge>& edges, const std::vector<bool>& sink_side) {
  std::int64_t total = 0;
  for (const Edge& edge : edges) {
    if (!sink_side[edge.from] && sink_side[edge.to]) total += edge.capacity;
  }
  return total;
}

TEST(MaxFlow, IsTheSmallestCutAndTheOneNearestToTheSink) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::size_t vertices = 3 + random() % 6;
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < 2 * vertices; ++i) {
      edges.push_back({random() % vertices, random() % vertices, static_cast<std::int64_t>(random() % 10)});
    }
    FlowNetwork network(vertices);
    for (const Edge& edge : edges) network.add_edge(edge.from, edge.to, edge.capacity);
    const std::int64_t flow = network.maximize(0, 1);
    std::int64_t smallest = FlowNetwork::kInfinite;
    std::size_t fewest = vertices;  // vertices on the sink's side, of the smallest cuts
    for (std::size_t mask = 0; mask < (1U << (vertices - 2)); ++mask) {
      std::vector<bool> side(vertices, false);
      side[1] = true;
      for (std::size_t v = 2; v < vertices; ++v) side[v] = ((mask >> (v - 2)) & 1U) != 0;
      const std::int64_t capacity = cut(edges, side);
      const auto count = static_cast<std::size_t>(std::count(side.begin(), side.end(), true));
      if (capacity < smallest || (capacity == smallest && count < fewest)) {
        smallest = capacity;
        fewest = count;
      }
    }
    EXPECT_EQ(flow, smallest);
    const std::vector<bool> side = network.sink_side(1);
    EXPECT_EQ(cut(edges, side), smallest);
    EXPECT_EQ(static_cast<std::size_t>(std::count(side.begin(), side.end(), true)), fewest);
  }
}

TEST(MaxFlow, AnInfiniteCutIsAFault) {
  FlowNetwork network(2);
  network.add_edge(0, 1, FlowNetwork::kInfinite);
  EXPECT_INTERNAL_ERROR(network.maximize(0, 1), "a cut of infinite capacity");
}

TEST(MaxFlow, LongChainsNeedNoStack) {
  constexpr std::size_t kLength = 200'000;
  FlowNetwork network(kLength + 2);
  network.add_edge(0, 2, FlowNetwork::kInfinite);
  for (std::size_t v = 2; v <= kLength; ++v) network.add_edge(v, v + 1, v == 100'000 ? 3 : 7);
  network.add_edge(kLength + 1, 1, FlowNetwork::kInfinite);
  EXPECT_EQ(network.maximize(0, 1), 3);
}

}  // namespace
}  // namespace reprise
