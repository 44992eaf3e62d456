// SPDX-License-Identifier: Apache-2.0
// From wishes to entries: what backward needs is kept, or made again right before its first reader.
#pragma once

#include "recompute/flow.h"
#include "recompute/plan.h"
#include "recompute/solve.h"
#include "recompute/wishes.h"

namespace reprise {

/// Fills `saved` and `copies` of a plan.
void meet_demand(const ForwardFlow& flow, const Wishes& wishes, const RecomputeOptions& options, RecomputePlan& plan);

}  // namespace reprise
