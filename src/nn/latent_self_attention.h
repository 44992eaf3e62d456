// SPDX-License-Identifier: Apache-2.0
// Latent attention (DeepSeek-V2, 2024): queries, keys and values by way of low-rank vectors. The cache holds keys and values in full.
#pragma once

#include <cstdint>

#include "nn/gpt_parts.h"
#include "nn/sequence_context.h"

namespace reprise {

/// Rows of kv_a_proj_with_mqa: the vector of keys and values, then the turning part of the key, shared by all heads. Rows of
/// kv_b_proj per head: the part of the key that does not turn, then the value.
struct LatentSelfAttention : Module {
  LatentSelfAttention() = default;
  LatentSelfAttention(const GptConfig& config_in, std::int64_t layer_in);
  /// x: [B, T, C]
  Tensor operator()(const Tensor& x, const SequenceContext& context) const;

  GptConfig config;
  std::int64_t layer = 0;
  Linear q_proj;                // without q_lora_rank
  Linear q_a_proj, q_b_proj;    // with it
  RmsNorm q_a_norm;
  Linear kv_a_proj, kv_b_proj;
  RmsNorm kv_a_norm;
  Linear proj;

 private:
  Tensor queries(const Tensor& x) const;
};

}  // namespace reprise
