// SPDX-License-Identifier: Apache-2.0
// Carries a plan out on a claimed trace.
#pragma once

#include <functional>
#include <span>

#include "analysis/claim.h"
#include "recompute/plan.h"

namespace reprise {

/// Claims a node that the plan adds: marks it with its executor and returns the claim.
using ClaimNode = std::function<Claim(Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs)>;

/// Precondition: validate_plan accepts the plan; InternalError otherwise. Copies have phase `recompute`, the module, region,
/// source and claim of their originals, and their names with the suffix the plan gives; backward nodes read them instead.
/// Forward nodes stay as they are, but for the dense copies of views that the plan keeps ("v.saved").
ClaimedTrace apply_plan(const ClaimedTrace& claimed, const RecomputePlan& plan, const ClaimNode& claim);

}  // namespace reprise
