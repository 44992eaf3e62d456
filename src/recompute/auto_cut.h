// SPDX-License-Identifier: Apache-2.0
// The policy `auto`: of the values that cost no more than their bytes to make again, a minimum cut keeps the fewest bytes
// from which the rest can be made.
#pragma once

#include <vector>

#include "analysis/node_price.h"
#include "recompute/flow.h"
#include "recompute/wishes.h"

namespace reprise {

/// Decides the open wishes, and which views are kept as dense copies. A value may be made again when its node's
/// price is at most kCheapPrice times its bytes and it does not leave its block. The network: every forward value an edge of
/// its bytes, from what it is made of to what is made of it; values that may not be made again hang on the source, those
/// that backward reads on the sink. Of several minimum cuts the one nearest to backward is taken: it runs the least again.
/// No edge of infinite capacity can be cut, since every value that hangs on the source can itself be kept.
/// The bytes kept are never more than those of `none`, which is a cut too.
void decide_open_wishes(const ForwardFlow& flow, const NodePricer& pricer, Wishes& wishes);

/// A pointwise node of two inputs moves three times its output's bytes, a row norm two and some arithmetic.
inline constexpr double kCheapPrice = 6;

}  // namespace reprise
