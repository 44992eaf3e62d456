// SPDX-License-Identifier: Apache-2.0
// Self attention of one layer: heads of queries, groups of keys and values, a cache where generation has one.
#pragma once

#include <cstdint>

#include "nn/gpt_parts.h"
#include "nn/sequence_context.h"

namespace reprise {

/// Attends within the pass or over the layer's cache, which is brought up to date; soft cap, window and scale are the
/// layer's. q: [B, n_head, T, key width], fresh: this pass's keys and values -> [B, T, n_head * value width]
Tensor attend(const GptConfig& config, std::int64_t layer, const Tensor& q, KeyValues fresh, const SequenceContext& context);

/// x [B, T, count * size] -> [B, count, T, size]
Tensor split_heads(const Tensor& x, std::int64_t count, std::int64_t size);

/// Causal self attention with grouped queries. Rows of qkv: all query heads, then key groups, then value groups.
struct SelfAttention : Module {
  SelfAttention() = default;
  SelfAttention(const GptConfig& config_in, std::int64_t layer_in);
  /// x: [B, T, C]
  Tensor operator()(const Tensor& x, const SequenceContext& context) const;

  GptConfig config;
  std::int64_t layer = 0;
  Linear qkv, proj;
  Norm norm_q, norm_k;  // with norm_qk
};

}  // namespace reprise
