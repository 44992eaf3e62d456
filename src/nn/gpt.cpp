// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace reprise {
namespace {

/// What a layer is called in the weights.
struct Names {
  const char *norm_1, *norm_2, *qkv, *proj, *fc;
};

Names names_of(const GptConfig& config) {
  if (config.weight_names == WeightNames::gpt2) return {"ln_1", "ln_2", "c_attn", "c_proj", "c_fc"};
  return {"norm_1", "norm_2", "qkv", "proj", "fc"};
}

LinearStorage storage_of(const GptConfig& config) {
  return config.weight_names == WeightNames::gpt2 ? LinearStorage::in_out : LinearStorage::out_in;
}

Initializer fresh(const GptConfig& config) { return Initializer::normal(config.initializer_range); }

/// Projections back onto the residual stream: the sum over 2 n_layer of them keeps the variance (GPT-2).
Initializer fresh_residual(const GptConfig& config) {
  return Initializer::normal(config.initializer_range / std::sqrt(2 * static_cast<double>(config.n_layer)));
}

}  // namespace

Norm::Norm(const GptConfig& config) {
  if (config.norm_class == NormClass::rms_norm) {
    RmsNorm norm(config.n_embd, config.norm_eps, config.norm_affine, config.norm_unit_offset);
    if (norm.weight.valid()) add_parameter("weight", norm.weight);
    form = norm;
    return;
  }
  LayerNorm norm(config.n_embd, config.norm_eps, config.norm_affine, config.norm_affine);
  if (norm.weight.valid()) add_parameter("weight", norm.weight);
  if (norm.bias.valid()) add_parameter("bias", norm.bias);
  form = norm;
}

Tensor Norm::operator()(const Tensor& x) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  return std::visit([&](const auto& norm) { return norm(x); }, form);
}

SelfAttention::SelfAttention(const GptConfig& config_in, std::int64_t layer_in) : config(config_in), layer(layer_in) {
  const Names names = names_of(config);
  const std::int64_t rows = (config.n_head + 2 * config.n_query_groups) * config.head_size;
  qkv = add_module(names.qkv, Linear(config.n_embd, rows, config.bias || config.attn_bias, fresh(config), storage_of(config)));
  proj = add_module(names.proj, Linear(config.n_head * config.head_size, config.n_embd, config.bias, fresh_residual(config), storage_of(config)));
}

Tensor SelfAttention::operator()(const Tensor& x, const SequenceContext& context) const {
  Tracer& tracer = x.tracer();
  const Tracer::Scope scope = tracer.module(module_name());
  const std::int64_t batch = x.size(0);
  const std::int64_t length = x.size(1);
  const std::int64_t size = config.head_size;
  const std::vector<Tensor> parts =
      qkv(x).split(-1, {config.n_head * size, config.n_query_groups * size, config.n_query_groups * size});
  const auto heads = [&](const Tensor& part, std::int64_t count) {
    return part.reshape({batch, length, count, size}).transpose(1, 2);  // [B, H, T, D]
  };
  Tensor q = heads(parts[0], config.n_head);
  KeyValues fresh{heads(parts[1], config.n_query_groups), heads(parts[2], config.n_query_groups)};
  if (context.cos.valid()) {
    q = apply_rope(q, context.cos, context.sin);
    fresh.k = apply_rope(fresh.k, context.cos, context.sin);
  }
  if (!context.caches.empty()) {
    const KeyValues& cache = context.caches[static_cast<std::size_t>(layer)];
    const Tensor index = context.cache_position.expand(fresh.k.shape());
    fresh = {cache.k.scatter(2, index, fresh.k), cache.v.scatter(2, index, fresh.v)};
  }
  if (context.fresh != nullptr) context.fresh->push_back(fresh);
  const AttentionOptions options{.causal = !context.mask.valid(),
                                 .scale = config.attention_scale(layer),
                                 .dropout = context.training ? config.attn_dropout : 0,
                                 .segments = context.segments};
  const Tensor y = scaled_attention(q, fresh.k, fresh.v, context.mask, options);  // [B, H, T, D]
  return proj(y.transpose(1, 2).reshape({batch, length, config.n_head * size}));
}

Mlp::Mlp(const GptConfig& config) : form(config.mlp_class), gelu_tanh(config.gelu_tanh) {
  const Names names = names_of(config);
  const auto inner = [&] { return Linear(config.n_embd, config.intermediate_size, config.bias, fresh(config), storage_of(config)); };
  if (form == MlpClass::gpt_neox) {
    fc = add_module(names.fc, inner());
  } else {
    fc_1 = add_module("fc_1", inner());
    fc_2 = add_module("fc_2", inner());
  }
  proj = add_module(names.proj, Linear(config.intermediate_size, config.n_embd, config.bias, fresh_residual(config), storage_of(config)));
}

Tensor Mlp::operator()(const Tensor& x) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  if (form == MlpClass::gpt_neox) return proj(fc(x).gelu(gelu_tanh));
  const Tensor gate = fc_1(x);
  return proj((form == MlpClass::llama ? gate.silu() : gate.gelu(gelu_tanh)) * fc_2(x));
}

Block::Block(const GptConfig& config, std::int64_t layer)
    : parallel_residual(config.parallel_residual),
      shared_attention_norm(config.shared_attention_norm),
      resid_dropout(config.resid_dropout) {
  const Names names = names_of(config);
  norm_1 = add_module(names.norm_1, Norm(config));
  attn = add_module("attn", SelfAttention(config, layer));
  if (!shared_attention_norm) norm_2 = add_module(names.norm_2, Norm(config));
  mlp = add_module("mlp", Mlp(config));
}

Tensor Block::operator()(const Tensor& x, const SequenceContext& context) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  const double p = context.training ? resid_dropout : 0;
  const Tensor normed = norm_1(x);
  const Tensor attended = attn(normed, context).dropout(p);
  const Tensor middle = attended + x;
  const Tensor mlp_input = shared_attention_norm ? normed : norm_2(parallel_residual ? x : middle);
  return mlp(mlp_input).dropout(p) + middle;
}

Transformer::Transformer(const GptConfig& config) {
  wte = add_module("wte", Embedding(config.padded_vocab_size, config.n_embd, fresh(config)));
  if (config.positions == Positions::learned) wpe = add_module("wpe", Embedding(config.block_size, config.n_embd, fresh(config)));
  struct BlockList : Module {
    Block add(std::int64_t layer, Block block) { return add_module(std::to_string(layer), std::move(block)); }
  };
  BlockList list;
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) h.push_back(list.add(layer, Block(config, layer)));
  add_module("h", list);
  ln_f = add_module("ln_f", Norm(config));
}

Gpt::Gpt(const GptConfig& config_in) : config(config_in) {
  validate(config);
  transformer = add_module("transformer", Transformer(config));
  lm_head = add_module("lm_head", config.tied ? Linear(transformer.wte.weight, config.lm_head_bias)
                                              : Linear(config.n_embd, config.padded_vocab_size, config.lm_head_bias, fresh(config)));
}

Tensor Gpt::hidden(const Tensor& tokens, const Tensor& positions, const SequenceContext& context) const {
  Tracer& tracer = tokens.tracer();
  const Tracer::Scope scope = tracer.module(transformer.module_name());
  Tensor x = transformer.wte(tokens);
  if (config.scale_embeddings) x = x * std::sqrt(static_cast<double>(config.n_embd));
  if (positions.valid()) x = x + positions;
  x = x.dropout(context.training ? config.embd_dropout : 0);
  {
    const Tracer::Scope blocks = tracer.module("h");
    for (const Block& block : transformer.h) {
      const Tracer::Scope region = tracer.region("block" + block.module_name());
      x = block(x, context);
    }
  }
  return transformer.ln_f(x);
}

Tensor Gpt::logits(const Tensor& x) const { return lm_head(x); }

std::int64_t parameter_count(const GptConfig& config) {
  std::int64_t count = 0;
  for (const NamedParameter& parameter : Gpt(config).parameters()) count += parameter.shape.numel();
  return count;
}

}  // namespace reprise
