// SPDX-License-Identifier: Apache-2.0
// The order of the nodes: after the claim, before the memory plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/claim.h"

namespace reprise {

/// Returns an order of the nodes (old indices) that keeps data dependencies and donations: updates run as soon as they
/// may, so that a gradient dies at once, constants as late as they may, everything else in trace order.
std::vector<std::uint32_t> schedule(const ClaimedTrace& claimed);

/// Throws InternalError unless `order` holds every node once, producers before readers, and the last reader of a donated
/// input not after the node that overwrites it.
void validate_schedule(const ClaimedTrace& claimed, std::span<const std::uint32_t> order);

/// Returns the trace with its nodes in `order`, and values renumbered to follow it.
ClaimedTrace apply_schedule(const ClaimedTrace& claimed, std::span<const std::uint32_t> order);

}  // namespace reprise
