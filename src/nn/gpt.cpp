// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt.h"

#include <array>
#include <cmath>
#include <string>

#include "ops/builders.h"

namespace reprise {
namespace {

/// The module's result, or x itself without it.
Tensor apply(const std::optional<Norm>& norm, const Tensor& x) { return norm ? (*norm)(x) : x; }

}  // namespace

Block::Block(const GptConfig& config, std::int64_t layer)
    : parallel_residual(config.parallel_residual),
      shared_attention_norm(config.shared_attention_norm),
      resid_dropout(config.resid_dropout) {
  const LayerNames names = layer_names(config);
  const auto norm = [&](const char* name) { return add_module(name, Norm(config, config.n_embd)); };
  if (config.norm_1) norm_1 = norm(names.norm_1);
  if (config.latent_attention) attn = add_module("attn", LatentSelfAttention(config, layer));
  else attn = add_module("attn", SelfAttention(config, layer));
  if (config.post_attention_norm) post_attention_norm = norm("post_attention_norm");
  if (config.norm_2 && !shared_attention_norm) norm_2 = norm(names.norm_2);
  if (config.has_experts(layer)) mlp = add_module("mlp", MixtureOfExperts(config));
  else mlp = add_module("mlp", Mlp(config, config.intermediate_size));
  if (config.post_mlp_norm) post_mlp_norm = norm("post_mlp_norm");
}

Tensor Block::operator()(const Tensor& x, const SequenceContext& context) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  const double p = context.training ? resid_dropout : 0;
  const Tensor normed = apply(norm_1, x);
  const Tensor attended = std::visit([&](const auto& module) { return module(normed, context); }, attn);
  const Tensor middle = apply(post_attention_norm, attended).dropout(p) + x;
  const Tensor mlp_input = shared_attention_norm ? normed : apply(norm_2, parallel_residual ? x : middle);
  const Tensor added = std::visit([&](const auto& module) { return module(mlp_input); }, mlp);
  return apply(post_mlp_norm, added).dropout(p) + middle;
}

Transformer::Transformer(const GptConfig& config) {
  wte = add_module("wte", Embedding(config.padded_vocab_size, config.n_embd, fresh_weight(config)));
  if (config.positions == Positions::learned) wpe = add_module("wpe", Embedding(config.block_size, config.n_embd, fresh_weight(config)));
  struct BlockList : Module {
    Block add(std::int64_t layer, Block block) { return add_module(std::to_string(layer), std::move(block)); }
  };
  BlockList list;
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) h.push_back(list.add(layer, Block(config, layer)));
  add_module("h", list);
  ln_f = add_module("ln_f", Norm(config, config.n_embd));
}

Gpt::Gpt(const GptConfig& config_in) : config(config_in) {
  validate(config);
  transformer = add_module("transformer", Transformer(config));
  lm_head = add_module("lm_head", config.tied ? Linear(transformer.wte.weight, config.lm_head_bias)
                                              : Linear(config.n_embd, config.padded_vocab_size, config.lm_head_bias, fresh_weight(config)));
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

Tensor Gpt::logits(const Tensor& x) const {
  const Tensor y = lm_head(x);
  if (!config.final_logit_softcapping) return y;
  return {y.tracer(), ops::softcap(y.tracer().at(Tensor::Where::current()), y.id(), *config.final_logit_softcapping)};
}

std::int64_t parameter_count(const GptConfig& config) {
  const auto elements = [](const Module& module) {
    std::int64_t count = 0;
    for (const NamedParameter& parameter : module.parameters()) count += parameter.trained ? parameter.shape.numel() : 0;
    return count;
  };
  // Layers are alike but for the first ones without experts: one of each is enough.
  validate(config);
  std::array<std::optional<std::int64_t>, 2> of_layer;
  GptConfig one = config;
  one.n_layer = 1;
  std::int64_t count = elements(Gpt(one));
  for (std::int64_t layer = 1; layer < config.n_layer; ++layer) {
    auto& known = of_layer[config.has_experts(layer) ? 1 : 0];
    if (!known) known = elements(Block(config, layer));
    count += *known;
  }
  return count;
}

std::int64_t active_parameter_count(const GptConfig& config) {
  GptConfig active = config;
  active.n_expert_groups = 0;  // how experts are chosen has no trained weights
  active.norm_topk_prob = false;
  active.n_expert = config.n_expert_per_token;
  std::int64_t layers = 0;
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) layers += config.has_experts(layer) ? 1 : 0;
  const std::int64_t router_rows = layers * (config.n_expert - active.n_expert);
  return parameter_count(active) + router_rows * config.n_embd;
}

}  // namespace reprise
