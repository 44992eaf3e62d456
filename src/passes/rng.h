// SPDX-License-Identifier: Apache-2.0
// Pass: draws of the generator become Philox draws with fixed numbers, so that a recomputed draw is the same draw.
#pragma once

#include <cstdint>

#include "ir/trace.h"

namespace reprise {

/// A trace without draws of the generator.
struct NumberedDraws {
  Trace trace;
  /// Words that one run of the trace uses: the host adds it to the offset after every step. A multiple of 4.
  std::int64_t words = 0;
};

/// Names of the int64 scalar inputs of role rng that the draws read; made, after all other inputs, where they are not there.
inline constexpr const char* kSeedInput = "rng.seed";
inline constexpr const char* kOffsetInput = "rng.offset";

/// Replaces uniform, normal, dropout, and the dropout of attention by their philox forms. Draws are numbered in the order of the
/// trace: each takes as many words as it has elements, rounded up to a multiple of 4. A user op that draws is decomposed. UserError
/// for a draw in a sub-trace, which must draw outside and take the numbers in, and for an opaque op that draws.
NumberedDraws number_draws(const Trace& trace);

}  // namespace reprise
