// SPDX-License-Identifier: Apache-2.0
// Where the peak of a program is, and what fills it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "executor/compiled_trace.h"

namespace reprise {

/// A storage of the transient region that is alive at the peak.
struct LiveValue {
  std::string name;
  std::string type;
  std::int64_t bytes = 0;
  std::string kind;       // "saved", "recomputed", "gradient", "activation", "input", "output", "workspace"
  std::string module;     // where it is made
  std::string made_by;    // op and module path; empty for an input
  std::string last_read;  // likewise; empty for an output that stays until the end
};

struct MemoryReport {
  std::int64_t transient_bytes = 0;  // of the plan
  std::int64_t live_bytes = 0;       // alive at the peak: the rest is lost between the storages
  std::int64_t position = 0;         // of the node at the peak; -1: the start, the number of nodes: the end
  std::string peak;                  // op and module path of the node at the peak
  std::vector<LiveValue> live;       // largest first

  /// Bytes alive by kind, most first.
  std::vector<std::pair<std::string, std::int64_t>> by_kind() const;
  /// The peak, bytes by kind, and the `count` largest live values.
  std::string str(std::size_t count = 20) const;
};

/// Bytes of the transient region that are alive while each node runs, workspaces included; by node, in the order they run.
std::vector<std::int64_t> live_bytes(const CompiledTrace& compiled);

/// Reports on the node `position`: as report_memory, elsewhere than at the peak.
MemoryReport report_memory_at(const CompiledTrace& compiled, std::int64_t position);

/// Reports on the node at which most bytes of the transient region are alive (the first of several).
MemoryReport report_memory(const CompiledTrace& compiled);

}  // namespace reprise
