// SPDX-License-Identifier: Apache-2.0
// Seeded random small programs in float64 for property tests: broadcasting, views, in-place writes through views, reuse,
// draws and sub-traces. Kinks and poles are kept away, so that finite differences hold; output 0 is a scalar loss.
#pragma once

#include <cstdint>

#include "ir/trace.h"

namespace reprise::test {

struct ProgramOptions {
  int steps = 14;         // each adds an op or a few
  bool in_place = true;
  bool draws = true;      // uniform and dropout, to be numbered by the rng pass
  bool tiles = false;     // tiled regions, which have no derivative
};

/// The same seed gives the same program on every machine.
Trace random_program(std::uint64_t seed, const ProgramOptions& options = {});

}  // namespace reprise::test
