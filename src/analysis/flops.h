// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of a trace by the cost column of the op table, by phase.
#pragma once

#include "ir/trace.h"

namespace reprise {

struct FlopCount {
  double forward = 0;
  double backward = 0;
  double recompute = 0;
  double update = 0;

  /// Operations run again, in percent of all others of forward and backward.
  double recomputed_percent() const;
};

FlopCount count_flops(const Trace& trace);

}  // namespace reprise
