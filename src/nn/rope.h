// SPDX-License-Identifier: Apache-2.0
// Tables of rotary positions (Su et al., "RoFormer", 2021) and their scalings, computed in double.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/gpt_config.h"

namespace reprise {

/// cos and sin of position * frequency, times the scaling's factor: [length, n_elem], row-major.
struct RopeTables {
  std::int64_t length = 0;
  std::int64_t n_elem = 0;
  std::vector<double> cos;
  std::vector<double> sin;
};

/// Frequencies of the turning pairs after scaling: ceil(n_elem / 2). `length` chooses between longrope's two lists.
std::vector<double> rope_frequencies(const GptConfig& config, std::int64_t length);
/// What cos and sin are multiplied by.
double rope_attention_factor(const RopeScaling& scaling);

/// What YaRN's mscale_all_dim multiplies scores by: in latent attention, and in LitGPT's form of it.
double rope_score_factor(const GptConfig& config);

/// Tables of positions 0 .. length-1, positions divided by the condense ratio. Column j holds frequency j mod
/// ceil(n_elem / 2), cut to n_elem columns. Empty when nothing turns.
RopeTables rope_tables(const GptConfig& config, std::int64_t length);
/// The same for the layers with rope_local_base_freq: that base, no scaling. Empty without.
RopeTables local_rope_tables(const GptConfig& config, std::int64_t length);

}  // namespace reprise
