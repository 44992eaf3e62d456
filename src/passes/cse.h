// SPDX-License-Identifier: Apache-2.0
// Pass: common subexpression elimination.
#pragma once

#include "ir/trace.h"

namespace reprise {

/// Lets the first of several equal nodes (op, attributes by bits, inputs, region, claim) stand for all. Never merged: draws
/// of the generator, effects, collectives, recomputed nodes, nodes with sub-traces, outputs of the trace that differ in
/// identity only, values with different tags, and cheap values of different phases (merged, they would live between them).
/// A trace with in-place nodes is returned as it is. Enters sub-traces.
Trace merge_common_subexpressions(const Trace& trace);

}  // namespace reprise
