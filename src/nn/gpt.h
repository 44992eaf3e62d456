// SPDX-License-Identifier: Apache-2.0
// GPT-family decoders as modules: attention, MLP, block, model. One code for all structures of GptConfig; parameters carry the
// names of LitGPT's or of transformers' GPT-2 weights.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "nn/gpt_config.h"
#include "nn/layers.h"

namespace reprise {

/// Keys and values of one layer: [B, n_query_groups, S, head_size].
struct KeyValues {
  Tensor k;
  Tensor v;
};

/// What attention reads besides its input.
struct SequenceContext {
  Tensor cos, sin;          // [T, n] rows of this pass's positions, or [B, 1, T, n]; invalid where nothing turns
  Tensor mask;              // bool [1, 1, 1, S] over a cache; invalid: causal attention within the pass
  Tensor segments;          // int64 [B, T]: attention stays within runs of equal ids; invalid: the whole row
  Tensor cache_position;    // int64 [1, 1, 1, 1]: where this pass's one position is written in the caches
  std::vector<KeyValues> caches;        // per layer, to read and write; empty without
  std::vector<KeyValues>* fresh = nullptr;  // receives keys and values per layer: those of this pass, or the caches with them written
  bool training = false;    // dropout acts
};

/// LayerNorm, RmsNorm, as the configuration says.
struct Norm : Module {
  Norm() = default;
  explicit Norm(const GptConfig& config);
  Tensor operator()(const Tensor& x) const;

  std::variant<LayerNorm, RmsNorm> form;
};

/// Causal self attention with grouped queries. Rows of qkv: all query heads, then key groups, then value groups.
struct SelfAttention : Module {
  SelfAttention() = default;
  SelfAttention(const GptConfig& config_in, std::int64_t layer_in);
  /// x: [B, T, C]
  Tensor operator()(const Tensor& x, const SequenceContext& context) const;

  GptConfig config;
  std::int64_t layer = 0;
  Linear qkv, proj;
};

struct Mlp : Module {
  Mlp() = default;
  explicit Mlp(const GptConfig& config);
  Tensor operator()(const Tensor& x) const;

  MlpClass form = MlpClass::gpt_neox;
  bool gelu_tanh = false;
  Linear fc;            // gpt_neox
  Linear fc_1, fc_2;    // llama, gemma
  Linear proj;
};

struct Block : Module {
  Block() = default;
  Block(const GptConfig& config, std::int64_t layer);
  Tensor operator()(const Tensor& x, const SequenceContext& context) const;

  Norm norm_1, norm_2;
  SelfAttention attn;
  Mlp mlp;
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

/// Number of elements of all parameters, a tied head counted once.
std::int64_t parameter_count(const GptConfig& config);

}  // namespace reprise
