// SPDX-License-Identifier: Apache-2.0
// Where the peak of a program is, and what fills it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/compiled_trace.h"

namespace reprise {

/// A storage of the transient region that is alive at the peak.
struct LiveValue {
  std::string name;
  std::string type;
  std::int64_t bytes = 0;
  std::string kind;       // "saved", "gradient", "activation", "input", "output", "workspace"
  std::string made_by;    // op and module path; empty for an input
  std::string last_read;  // likewise; empty for an output that stays until the end
};

struct MemoryReport {
  std::int64_t transient_bytes = 0;  // of the plan
  std::int64_t live_bytes = 0;       // alive at the peak: the rest is lost between the storages
  std::string peak;                  // op and module path of the node at the peak
  std::vector<LiveValue> live;       // largest first

  /// The peak, bytes by kind, and the `count` largest live values.
  std::string str(std::size_t count = 20) const;
};

/// Reports on the node at which most bytes of the transient region are alive (the first of several).
MemoryReport report_memory(const CompiledTrace& compiled);

}  // namespace reprise
