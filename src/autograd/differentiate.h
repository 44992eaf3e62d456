// SPDX-License-Identifier: Apache-2.0
// Forward trace -> joint trace: reverse-mode differentiation by the op table's vjp formulas.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/trace.h"

namespace reprise {

/// A forward trace followed by its backward nodes. Outputs: the forward trace's, then one gradient per value of `wrt`.
struct JointTrace {
  Trace trace;
  std::vector<ValueId> wrt;        // in `trace`
  std::vector<ValueId> gradients;  // one per wrt, of its type; zeros where the loss does not depend on it
};

/// Differentiates output `loss` (a floating scalar) with respect to the inputs `wrt`, which are ids in `forward`.
/// Precondition: no in-place and no random node (functionalize and rng ran); InternalError otherwise. UserError when the
/// loss is not a floating scalar, or when a wrt is not a floating input.
/// Nodes that lead to no wrt get no backward node. Cotangents of a value with several readers are added in reverse
/// order of the readers; those of slices that do not overlap are joined by a cat, which is added last. Values made here carry the tag prefer_recompute, source "autograd".
/// An op without vjp but with a decomposition is decomposed first; without either it passes no gradient, which for a user op is a
/// UserError.
JointTrace differentiate(const Trace& forward, std::span<const ValueId> wrt, std::size_t loss = 0);

/// Returns the inputs of role param whose names match any of the comma-separated globs ("*" and "?"); all for "*".
/// UserError naming the pattern when one matches nothing.
std::vector<ValueId> trainable_parameters(const Trace& forward, std::string_view globs = "*");

}  // namespace reprise
