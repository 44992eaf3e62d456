// SPDX-License-Identifier: Apache-2.0
// The instruction sets a machine has, and reproducible numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.h"
#include "base/target.h"

namespace reprise::loops {

inline std::vector<IsaLevel> levels_here() {
  std::vector<IsaLevel> levels;
  for (const IsaLevel level : {IsaLevel::v2, IsaLevel::v3, IsaLevel::v4}) {
    if (level <= detect_isa()) levels.push_back(level);
  }
  return levels;
}

/// In [-1, 1).
inline float random_float(std::uint64_t seed, std::uint64_t i) { return 2.0f * uniform_float(philox_word(seed, i)) - 1.0f; }

}  // namespace reprise::loops
