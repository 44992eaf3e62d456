// SPDX-License-Identifier: Apache-2.0
#include "nn/self_attention.h"

#include <vector>

namespace reprise {

Tensor attend(const GptConfig& config, std::int64_t layer, const Tensor& q, KeyValues fresh, const SequenceContext& context) {
  if (!context.caches.empty()) {
    const KeyValues& cache = context.caches[static_cast<std::size_t>(layer)];
    const auto written = [&](const Tensor& old, const Tensor& now) {
      return old.scatter(2, context.cache_position.expand(now.shape()), now);
    };
    fresh = {written(cache.k, fresh.k), written(cache.v, fresh.v)};
  }
  if (context.fresh != nullptr) context.fresh->push_back(fresh);
  const std::int64_t window = config.window(layer);
  const Tensor& mask = window > 0 ? context.window_mask : context.mask;
  const AttentionOptions options{.causal = !mask.valid(),
                                 .window = mask.valid() ? 0 : window,
                                 .scale = config.attention_scale(layer),
                                 .softcap = config.attention_logit_softcapping.value_or(0),
                                 .dropout = context.training ? config.attn_dropout : 0,
                                 .segments = context.segments};
  const Tensor y = scaled_attention(q, fresh.k, fresh.v, mask, options);  // [B, H, T, Dv]
  return y.transpose(1, 2).reshape({y.size(0), y.size(2), y.size(1) * y.size(3)});
}

Tensor split_heads(const Tensor& x, std::int64_t count, std::int64_t size) {
  return x.reshape({x.size(0), x.size(1), count, size}).transpose(1, 2);
}

SelfAttention::SelfAttention(const GptConfig& config_in, std::int64_t layer_in) : config(config_in), layer(layer_in) {
  const LayerNames names = layer_names(config);
  const std::int64_t q = config.n_head * config.head_size;
  const std::int64_t kv = config.n_query_groups * config.head_size;
  qkv = add_module(names.qkv, Linear(config.n_embd, q + 2 * kv, config.bias || config.attn_bias, fresh_weight(config), linear_storage(config)));
  proj = add_module(names.proj, Linear(q, config.n_embd, config.bias, fresh_residual_weight(config), linear_storage(config)));
  if (!config.norm_qk) return;
  const bool per_head = config.norm_qk_type == NormQkType::per_head;
  norm_q = add_module("norm_q", Norm(config, per_head ? config.head_size : q));
  norm_k = add_module("norm_k", Norm(config, per_head ? config.head_size : kv));
}

Tensor SelfAttention::operator()(const Tensor& x, const SequenceContext& context) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  const std::int64_t size = config.head_size;
  const std::int64_t groups = config.n_query_groups;
  // split by heads, so that one cat joins the gradients as they lie
  const std::vector<Tensor> parts =
      qkv(x).reshape({x.size(0), x.size(1), config.n_head + 2 * groups, size}).split(2, {config.n_head, groups, groups});
  const auto heads = [&](const Tensor& part, const Norm& norm) {
    if (!config.norm_qk) return part.transpose(1, 2);
    if (config.norm_qk_type == NormQkType::per_head) return norm(part.transpose(1, 2));
    const std::int64_t count = part.size(2);
    return split_heads(norm(part.reshape({x.size(0), x.size(1), count * size})), count, size);
  };
  Tensor q = heads(parts[0], norm_q);
  Tensor k = heads(parts[1], norm_k);
  if (const RopeRows rope = context.rope_of(config, layer); rope.cos.valid()) {
    q = apply_rope(q, rope.cos, rope.sin, config.rope_interleave);
    k = apply_rope(k, rope.cos, rope.sin, config.rope_interleave);
  }
  return proj(attend(config, layer, q, {k, parts[2].transpose(1, 2)}, context));
}

}  // namespace reprise
