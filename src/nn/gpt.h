// SPDX-License-Identifier: Apache-2.0
// GPT-family decoders as modules: block and model. One code for all structures of GptConfig; parameters carry the names of
// LitGPT's or of transformers' GPT-2 weights.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "nn/gpt_config.h"
#include "nn/latent_self_attention.h"
#include "nn/mixture_of_experts.h"
#include "nn/self_attention.h"

namespace reprise {

struct Block : Module {
  Block() = default;
  Block(const GptConfig& config, std::int64_t layer);
  Tensor operator()(const Tensor& x, const SequenceContext& context) const;

  std::optional<Norm> norm_1, norm_2, post_attention_norm, post_mlp_norm;
  std::variant<SelfAttention, LatentSelfAttention> attn;
  std::variant<Mlp, MixtureOfExperts> mlp;
  bool parallel_residual = false;
  bool shared_attention_norm = false;
  double resid_dropout = 0;
};

struct Transformer : Module {
  Transformer() = default;
  explicit Transformer(const GptConfig& config);

  Embedding wte, wpe;
  std::vector<Block> h;
  Norm ln_f;
};

struct Gpt : Module {
  /// UserError when the configuration does not hold together.
  explicit Gpt(const GptConfig& config_in);

  /// tokens [B, T] -> hidden states after the last norm [B, T, C]. `positions`: rows of the learned positions, [T, C] or
  /// [B, T, C], or none for rotary models.
  Tensor hidden(const Tensor& tokens, const Tensor& positions, const SequenceContext& context) const;
  /// hidden states [..., C] -> logits [..., padded vocabulary]
  Tensor logits(const Tensor& x) const;

  GptConfig config;
  Transformer transformer;
  Linear lm_head;  // its weight is the embedding's when tied
};

/// Number of elements of all trained parameters, a tied head counted once.
std::int64_t parameter_count(const GptConfig& config);
/// The same without the experts that a token is not routed to.
std::int64_t active_parameter_count(const GptConfig& config);

}  // namespace reprise
