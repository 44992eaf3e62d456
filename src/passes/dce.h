// SPDX-License-Identifier: Apache-2.0
// Pass: dead code elimination.
#pragma once

#include "ir/trace.h"

namespace reprise {

/// Drops nodes that no output needs. Kept: draws of the generator, declared effects, in-place nodes. Inputs stay, used or
/// not. Enters sub-traces.
Trace eliminate_dead_code(const Trace& trace);

}  // namespace reprise
