// SPDX-License-Identifier: Apache-2.0
#include "analysis/node_price.h"

#include "ops/cost.h"

namespace reprise {

double SingleNodePricer::price(const Trace& trace, const Node& node) const {
  if (node.executor == Interned("view")) return 0;
  constexpr double kFlopsPerByte = 8;
  const Cost cost = node_cost(trace, node);
  return cost.bytes_read + cost.bytes_written + cost.flops / kFlopsPerByte;
}

}  // namespace reprise
