// SPDX-License-Identifier: Apache-2.0
// What it costs to run a node once more: the question that recomputation asks and that fusion will answer better.
#pragma once

#include "ir/trace.h"

namespace reprise {

/// Prices are in bytes moved: what takes as long as reading or writing that many bytes of memory.
class NodePricer {
 public:
  virtual ~NodePricer() = default;
  /// Price of one more run of `node`, a node of `trace`.
  virtual double price(const Trace& trace, const Node& node) const = 0;
};

/// A node run by itself: its `cost` in the op table, floating-point operations counted at 8 to the byte (about what a core
/// does while it moves one). Views that share storage are free.
class SingleNodePricer : public NodePricer {
 public:
  double price(const Trace& trace, const Node& node) const override;
};

}  // namespace reprise
