// SPDX-License-Identifier: Apache-2.0
// Part of the claim stage: where forward leaves a value and a dense copy of a permutation of it, and backward reads both, backward
// reads the copy alone, and the value need not be kept.
#pragma once

#include "analysis/claim.h"

namespace reprise {

/// Lets backward nodes read values through a view of their copies, where all of them take the strides and the copy is read there
/// anyway. The elements are the same, so every bit of every result is. Values that the user tagged are read as they are.
///
/// This is what attention's output comes to, written head by head, beside the copy of it, token by token, that the projection
/// reads and the gradient of its weight reads again.
ClaimedTrace share_copies(ClaimedTrace claimed);

}  // namespace reprise
