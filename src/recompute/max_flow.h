// SPDX-License-Identifier: Apache-2.0
// Maximum flow and minimum cut by Dinic's algorithm (E. A. Dinic, 1970).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace reprise {

class FlowNetwork {
 public:
  /// More than all finite capacities together may add up to.
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 4;

  explicit FlowNetwork(std::size_t vertices) : edges_of_(vertices) {}
  void add_edge(std::size_t from, std::size_t to, std::int64_t capacity);
  /// Computes a maximum flow and returns its value. InternalError when it is infinite.
  std::int64_t maximize(std::size_t source, std::size_t sink);
  /// After maximize: the vertices from which the sink can still be reached. The edges into this set from outside it are the
  /// minimum cut that lies nearest to the sink.
  std::vector<bool> sink_side(std::size_t sink) const;

 private:
  struct Edge {
    std::uint32_t to;
    std::int64_t residual;
  };
  bool build_levels(std::size_t source, std::size_t sink);
  std::int64_t augment(std::size_t source, std::size_t sink);

  std::vector<Edge> edges_;  // an edge and its reverse lie at 2k and 2k + 1
  std::vector<std::vector<std::uint32_t>> edges_of_;
  std::vector<std::int32_t> level_;
  std::vector<std::uint32_t> next_;
};

}  // namespace reprise
