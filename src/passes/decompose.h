// SPDX-License-Identifier: Apache-2.0
// Pass: ops become the simpler ones they are made of.
#pragma once

#include <functional>

#include "ir/trace.h"

namespace reprise {

/// Says which nodes of a trace are to be replaced.
using NodeChoice = std::function<bool(const Node&)>;

/// Replaces the nodes that are chosen by their decomposition, and what that is made of as long as `choose`, asked anew for every
/// trace that comes out, still finds some. UserError when a decomposition leads back to its own op. Does not enter sub-traces.
Trace decompose_nodes(const Trace& trace, const std::function<NodeChoice(const Trace&)>& choose);

/// Replaces the user ops that have a decomposition, so that every executor knows what is left. Claimed nodes are left alone.
/// Enters sub-traces.
Trace decompose_user_ops(const Trace& trace);

}  // namespace reprise
