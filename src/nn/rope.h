// SPDX-License-Identifier: Apache-2.0
// Tables of rotary positions (Su et al., "RoFormer", 2021), computed in double.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/gpt_config.h"

namespace reprise {

/// cos and sin of position * frequency: [length, n_elem], row-major.
struct RopeTables {
  std::int64_t length = 0;
  std::int64_t n_elem = 0;
  std::vector<double> cos;
  std::vector<double> sin;
};

/// Frequencies of the turning pairs after scaling: ceil(n_elem / 2).
std::vector<double> rope_frequencies(const GptConfig& config);

/// Tables of positions 0 .. length-1, positions divided by the condense ratio. Column j holds frequency j mod
/// ceil(n_elem / 2), cut to n_elem columns. Empty when nothing turns.
RopeTables rope_tables(const GptConfig& config, std::int64_t length);

}  // namespace reprise
