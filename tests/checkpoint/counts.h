// SPDX-License-Identifier: Apache-2.0
// What is counted of a step: bytes kept for backward, products and attentions run in backward, and what else ran again.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "io/json.h"
#include "ir/trace.h"

namespace reprise::test {

struct Counts {
  std::int64_t bytes = 0;  // made in forward, read in backward
  int products = 0;        // matrix products in backward, those that run again included
  int attentions = 0;      // likewise
  std::map<std::string, int> again;  // other computations that run again, by what they are

  /// "gelu 1, norm 2"
  std::string again_text() const;
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// Counts a claimed joint trace. `attention_is_products`: as two products forward and four backward. std::runtime_error for an op
/// that runs again and is not known.
Counts counts_of(const Trace& trace, bool attention_is_products);

/// The same of what was measured: `variant` and the run without regions, both as checkpoint/cases.json has them.
Counts measured_counts(const Json& variant, const Json& without);

/// Whether nothing is more in `a` than in `b`, bytes apart.
bool runs_no_more(const Counts& a, const Counts& b);

}  // namespace reprise::test
