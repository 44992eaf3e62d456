// SPDX-License-Identifier: Apache-2.0
// The memory plan of one program: a value, made by plan_memory, checked by validate_memory_plan, applied by the executor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/claim.h"

namespace reprise {

/// Where one storage lies: in the slot of a parameter or state that outlives the run, or at an offset of the transient region.
struct StoragePlan {
  std::string value;
  std::string slot;          // name of the persistent input whose slot it is; empty: transient
  std::int64_t offset = 0;   // transient: bytes from the start of the region
  std::int64_t bytes = 0;
  std::string onto;          // the value whose storage it takes over while its node runs, or nothing
  friend bool operator==(const StoragePlan&, const StoragePlan&) = default;
};

/// Scratch of one node, in the transient region.
struct WorkspacePlan {
  std::uint32_t node = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const WorkspacePlan&, const WorkspacePlan&) = default;
};

struct MemoryPlan {
  std::string name;
  std::int64_t transient_bytes = 0;  // highest offset + bytes of the transient region
  std::int64_t bound_bytes = 0;      // most bytes alive at one node: no offsets do better in this order
  std::int64_t library_bytes = 0;    // most that a library allocates by itself at one node
  std::vector<StoragePlan> storages;      // one per storage, in order of values
  std::vector<WorkspacePlan> workspaces;  // in order of nodes

  /// One line a storage; parses back to an equal plan.
  std::string str() const;
  friend bool operator==(const MemoryPlan&, const MemoryPlan&) = default;
};

/// Reads the text form; UserError naming the line.
MemoryPlan parse_memory_plan(std::string_view text);

/// Plans the memory of a scheduled trace.
MemoryPlan plan_memory(const ClaimedTrace& claimed);

/// Throws InternalError naming the values unless the plan is right for the trace: every storage placed and aligned,
/// storages alive together disjoint, storage taken over only from its last reader where the claim lets it, slots only
/// written by their donation after the last reader, workspaces disjoint from all that is alive, and the stated totals exact.
void validate_memory_plan(const ClaimedTrace& claimed, const MemoryPlan& plan);

}  // namespace reprise
