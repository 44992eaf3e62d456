// SPDX-License-Identifier: Apache-2.0
// Checks a trace independently of what made it: run after every pass, and on every trace read from a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/trace.h"

namespace reprise {

/// Returns what is wrong with `trace`, one text each, sub-traces included; nothing for a well-formed one. Checked: ids in
/// range; every value defined once, before it is read, and known to its producer; unique names; attributes of the op's
/// family; types equal to what the ops infer; in-place nodes; donations; phases. Tags are wishes, whose contradictions
/// the resolver of recomputation reports.
std::vector<std::string> verify(const Trace& trace);

/// Throws InternalError "STAGE made an ill-formed trace: ..." when `verify` finds anything.
void verify_or_throw(const Trace& trace, std::string_view stage);

}  // namespace reprise
