// SPDX-License-Identifier: Apache-2.0
#include "analysis/flops.h"

#include "ops/cost.h"

namespace reprise {

double FlopCount::recomputed_percent() const {
  const double once = forward + backward;
  return once == 0 ? 0 : 100 * recompute / once;
}

FlopCount count_flops(const Trace& trace) {
  FlopCount count;
  for (const Node& node : trace.nodes) {
    const double flops = node_cost(trace, node).flops;
    switch (node.phase) {
      case Phase::forward: count.forward += flops; break;
      case Phase::backward: count.backward += flops; break;
      case Phase::recompute: count.recompute += flops; break;
      case Phase::update: count.update += flops; break;
    }
  }
  return count;
}

}  // namespace reprise
