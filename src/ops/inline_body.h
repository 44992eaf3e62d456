// SPDX-License-Identifier: Apache-2.0
// Puts the nodes of a sub-trace into the trace that holds it.
#pragma once

#include <span>
#include <vector>

#include "ops/builder.h"

namespace reprise {

/// Emits the nodes of `body` on `inputs`, one value per body input, and returns the values of its outputs. Names (made
/// unique), modules, regions, source lines and tags are kept; what a node does not name comes from the builder's context.
std::vector<ValueId> inline_body(Builder& b, const Trace& body, std::span<const ValueId> inputs);

}  // namespace reprise
