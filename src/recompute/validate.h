// SPDX-License-Identifier: Apache-2.0
// Checks a plan against its trace, independently of what made it.
#pragma once

#include <string_view>

#include "ir/trace.h"
#include "recompute/plan.h"

namespace reprise {

/// Throws UserError, naming the entry, unless the plan can be carried out on the claimed trace and every backward node, and
/// every copy, then reads values that are there: inputs, what is kept, or a copy above it. Also refused: names that are
/// unknown, used twice or taken; nodes that may run once only; entries that nothing reads; entries against a must_save or
/// must_recompute tag. The empty plan is right for any trace. A plan that was read is named by its `file`.
void validate_plan(const Trace& trace, const RecomputePlan& plan, std::string_view file = {});

}  // namespace reprise
