// SPDX-License-Identifier: Apache-2.0
// Which node must run before which: producers before readers, and the readers of a donated parameter or state before the
// node that overwrites it. The schedule orders by this graph; the claim stage makes copies where a donation has no order.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/claim.h"
#include "analysis/storage.h"

namespace reprise {

struct DependencyGraph {
  std::vector<std::vector<std::uint32_t>> successors;  // by node index; every successor once
  std::vector<bool> carried;  // by donation: its output can be written straight onto its input
};

/// Whether an input of this role lies in a slot that outlives a run.
constexpr bool is_persistent(Role role) { return role == Role::param || role == Role::state; }

/// Builds the graph of `claimed`. Donations of persistent inputs are taken in order; one that would close a circle, or whose
/// writer may not overwrite what it reads, is not carried and adds no edge. Others need no slot and count as carried.
DependencyGraph build_dependencies(const ClaimedTrace& claimed, const StorageMap& storage);

/// Whether the claim lets `node` write its output `output` onto the storage of `owner`: every input there is dense, as
/// large as the storage, and named by an in-place pair with that output.
bool may_overwrite(const Trace& trace, const StorageMap& storage, const Node& node, const Claim& claim, std::uint32_t output,
                   ValueId owner);

}  // namespace reprise
