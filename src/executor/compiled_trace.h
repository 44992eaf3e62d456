// SPDX-License-Identifier: Apache-2.0
// What the compiler hands to an Engine: a claimed and scheduled trace with its memory plan. A value; no address in it.
#pragma once

#include <string>
#include <vector>

#include "analysis/claim.h"
#include "memory/memory_plan.h"

namespace reprise {

struct CompiledTrace {
  std::string name;      // "step", "accumulate", "eval", "prefill", "decode"
  ClaimedTrace claimed;  // nodes in the order they run
  MemoryPlan plan;
  /// States that live for one session only (the KV cache of one generation): they lie in the transient region, before the
  /// program's own transients, shared with the other programs that name them, and never beside programs without them.
  std::vector<std::string> session_states;
};

}  // namespace reprise
