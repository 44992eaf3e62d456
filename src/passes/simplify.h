// SPDX-License-Identifier: Apache-2.0
// Pass: algebraic simplification by a list of small rules.
#pragma once

#include <string_view>
#include <vector>

#include "ir/trace.h"

namespace reprise {

/// Applies every rule that fits, each node once, in order. All are exact: results keep every bit (adding 0 is no rule, since it
/// changes -0). Outputs of the trace and tagged values keep a node of their own. What is left over falls to dead code
/// elimination. A trace with in-place nodes is returned as it is; claimed nodes are left alone. Enters sub-traces.
Trace simplify(const Trace& trace);

/// Names of the rules, in the order tried.
std::vector<std::string_view> simplify_rule_names();

}  // namespace reprise
