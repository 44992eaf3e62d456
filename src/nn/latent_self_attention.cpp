// SPDX-License-Identifier: Apache-2.0
#include "nn/latent_self_attention.h"

#include <vector>

#include "nn/self_attention.h"

namespace reprise {

LatentSelfAttention::LatentSelfAttention(const GptConfig& config_in, std::int64_t layer_in) : config(config_in), layer(layer_in) {
  const LatentAttention& latent = *config.latent_attention;
  const bool bias = config.bias || config.attn_bias;
  const auto linear = [&](std::int64_t in, std::int64_t out, bool has_bias) { return Linear(in, out, has_bias, fresh_weight(config)); };
  const auto norm = [&](std::int64_t width) { return RmsNorm(width, latent.norm_eps, true, false); };
  if (latent.q_lora_rank == 0) {
    q_proj = add_module("q_proj", linear(config.n_embd, config.n_head * config.key_width(), config.bias));
  } else {
    q_a_proj = add_module("q_a_proj", linear(config.n_embd, latent.q_lora_rank, bias));
    q_a_norm = add_module("q_a_norm", norm(latent.q_lora_rank));
    q_b_proj = add_module("q_b_proj", linear(latent.q_lora_rank, config.n_head * config.key_width(), config.bias));
  }
  kv_a_proj = add_module("kv_a_proj_with_mqa", linear(config.n_embd, latent.kv_lora_rank + latent.qk_rope_head_dim, bias));
  kv_a_norm = add_module("kv_a_norm", norm(latent.kv_lora_rank));
  kv_b_proj =
      add_module("kv_b_proj", linear(latent.kv_lora_rank, config.n_head * (latent.qk_nope_head_dim + latent.v_head_dim), config.bias));
  proj = add_module("proj", Linear(config.n_head * latent.v_head_dim, config.n_embd, config.bias, fresh_residual_weight(config)));
}

Tensor LatentSelfAttention::queries(const Tensor& x) const {
  return config.latent_attention->q_lora_rank == 0 ? q_proj(x) : q_b_proj(q_a_norm(q_a_proj(x)));
}

Tensor LatentSelfAttention::operator()(const Tensor& x, const SequenceContext& context) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  const LatentAttention& latent = *config.latent_attention;
  const std::int64_t turning = latent.qk_rope_head_dim;
  const std::vector<Tensor> q = split_heads(queries(x), config.n_head, config.key_width()).split(-1, {latent.qk_nope_head_dim, turning});
  const std::vector<Tensor> compressed = kv_a_proj(x).split(-1, {latent.kv_lora_rank, turning});
  const std::vector<Tensor> kv =
      split_heads(kv_b_proj(kv_a_norm(compressed[0])), config.n_head, latent.qk_nope_head_dim + latent.v_head_dim)
          .split(-1, {latent.qk_nope_head_dim, latent.v_head_dim});
  Tensor q_turned = q[1];
  Tensor k_turned = split_heads(compressed[1], 1, turning);
  if (const RopeRows rope = context.rope_of(config, layer); rope.cos.valid()) {
    q_turned = apply_rope(q_turned, rope.cos, rope.sin, config.rope_interleave);
    k_turned = apply_rope(k_turned, rope.cos, rope.sin, config.rope_interleave);
  }
  const Tensor k = cat({kv[0], k_turned.expand(q_turned.shape())}, -1);
  return proj(attend(config, layer, cat({q[0], q_turned}, -1), {k, kv[1]}, context));
}

}  // namespace reprise
