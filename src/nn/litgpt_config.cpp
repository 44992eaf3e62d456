// SPDX-License-Identifier: Apache-2.0
#include "nn/litgpt_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "nn/config_fields.h"

namespace reprise {
namespace {

std::optional<double> optional_number(ConfigFields& f, std::string_view key) {
  return f.has(key) ? std::optional(f.number(key)) : std::nullopt;
}

RopeScaling read_adjustments(const JsonView& view) {
  ConfigFields f(view);
  RopeScaling scaling;
  scaling.factor = f.number("factor");
  scaling.kind = RopeScaling::Kind::linear;
  if (f.has("low_freq_factor")) {
    scaling.kind = RopeScaling::Kind::llama3;
    scaling.low_freq_factor = f.number("low_freq_factor");
    scaling.high_freq_factor = f.number("high_freq_factor");
    scaling.original_max_seq_len = f.integer("original_max_seq_len");
  } else if (f.has("beta_fast")) {
    scaling.kind = RopeScaling::Kind::yarn_litgpt;
    scaling.beta_fast = f.number("beta_fast");
    scaling.beta_slow = f.number("beta_slow");
    scaling.original_max_seq_len = f.integer("original_max_seq_len");
    scaling.mscale = optional_number(f, "mscale");
    scaling.mscale_all_dim = optional_number(f, "mscale_all_dim");
  }
  f.finish();
  return scaling;
}

LatentAttention read_latent_attention(const JsonView& view, double norm_eps) {
  ConfigFields f(view);
  LatentAttention latent;
  latent.q_lora_rank = f.integer("q_lora_rank");
  latent.kv_lora_rank = f.integer("kv_lora_rank");
  latent.qk_rope_head_dim = f.integer("qk_rope_head_dim");
  latent.qk_nope_head_dim = f.integer("qk_nope_head_dim");
  latent.v_head_dim = f.integer("v_head_dim");
  latent.norm_eps = norm_eps;
  f.finish();
  return latent;
}

/// A list with 0 or 1 for each layer.
LayerPattern read_layers(const JsonView& list, std::int64_t n_layer) {
  if (static_cast<std::int64_t>(list.size()) != n_layer) {
    list.fail(fmt::format("needs one entry for each of {} layers, not {}", n_layer, list.size()));
  }
  std::vector<bool> layers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t entry = list.item(i).integer();
    if (entry != 0 && entry != 1) list.item(i).fail(fmt::format("must be 0 or 1, not {}", entry));
    layers.push_back(entry == 1);
  }
  return LayerPattern(layers);
}

void read_attention(ConfigFields& f, GptConfig& c) {
  c.norm_qk = f.boolean("norm_qk", false);
  c.norm_qk_type = static_cast<NormQkType>(f.choice("norm_qk_type", {"default", "olmo2"}, 0));
  c.attn_bias = f.boolean("attn_bias", false);
  c.attention_scores_scalar = optional_number(f, "attention_scores_scalar");
  c.attention_logit_softcapping = optional_number(f, "attention_logit_softcapping");
  const auto window_layers = f.find("sliding_window_indices");
  if (f.has("sliding_window_size")) {
    c.sliding_window_size = f.integer("sliding_window_size");
    if (window_layers) c.sliding_window_indices = read_layers(*window_layers, c.n_layer);
  }
  if (const auto latent = f.find("latent_attention")) c.latent_attention = read_latent_attention(*latent, c.norm_eps);
}

void read_rope(ConfigFields& f, GptConfig& c) {
  c.rotary_percentage = f.number("rotary_percentage", 0.25);
  c.rope_base = f.number("rope_base", 10000);
  c.rope_condense_ratio = f.integer("rope_condense_ratio", 1);
  c.rope_interleave = f.boolean("rope_interleave", false);
  if (const auto scaling = f.find("rope_adjustments")) c.rope_scaling = read_adjustments(*scaling);
  const auto local_layers = f.find("rope_indices");
  if (f.has("rope_local_base_freq")) {
    c.rope_local_base_freq = f.number("rope_local_base_freq");
    if (local_layers) c.rope_indices = read_layers(*local_layers, c.n_layer);
  }
}

void read_mlp(ConfigFields& f, GptConfig& c) {
  c.mlp_class = static_cast<MlpClass>(f.choice("mlp_class_name", {"GptNeoxMLP", "LLaMAMLP", "GemmaMLP", "LLaMAMoE"}, 0));
  c.intermediate_size = f.integer("intermediate_size", 4 * c.n_embd);
  c.gelu_tanh = f.choice("gelu_approximate", {"none", "tanh"}, 0) == 1;
  c.n_expert = f.integer("n_expert", 0);
  c.n_expert_per_token = f.integer("n_expert_per_token", 0);
  c.moe_intermediate_size = f.integer("moe_intermediate_size", 0);
  c.n_shared_expert = f.integer("n_shared_expert", 0);
  c.first_k_dense_replace = f.integer("first_k_dense_replace", 0);
  c.routed_scaling_factor = f.number("routed_scaling_factor", 1);
  c.n_expert_groups = f.integer("n_expert_groups", 0);
  c.n_topk_groups = f.integer("n_topk_groups", 0);
  c.n_topk_scores_per_group = f.integer("n_topk_scores_per_group", 0);
  c.norm_topk_prob = f.boolean("norm_topk_prob", false);
}

}  // namespace

GptConfig read_litgpt_config(const JsonView& root) {
  ConfigFields f(root.at("litgpt"));
  f.refuse("scale_attn_by_inverse_layer_idx");
  f.ignore({"padding_multiple", "hf_config"});
  GptConfig c;
  c.name = f.string("name", "");
  c.block_size = f.integer("block_size");
  c.vocab_size = f.integer("vocab_size");
  c.padded_vocab_size = f.integer("padded_vocab_size", c.vocab_size);
  c.n_layer = f.integer("n_layer");
  c.n_head = f.integer("n_head");
  c.n_query_groups = f.integer("n_query_groups", c.n_head);
  c.n_embd = f.integer("n_embd");
  c.head_size = f.integer("head_size", c.n_embd / std::max<std::int64_t>(1, c.n_head));
  c.norm_class = static_cast<NormClass>(f.choice("norm_class_name", {"LayerNorm", "RMSNorm"}, 0));
  c.norm_eps = f.number("norm_eps", 1e-5);
  c.norm_1 = f.boolean("norm_1", true);
  c.norm_2 = f.boolean("norm_2", true);
  c.post_attention_norm = f.boolean("post_attention_norm", false);
  c.post_mlp_norm = f.boolean("post_mlp_norm", false);
  c.parallel_residual = f.boolean("parallel_residual", true);
  c.shared_attention_norm = f.boolean("shared_attention_norm", false);
  c.bias = f.boolean("bias", true);
  c.lm_head_bias = f.boolean("lm_head_bias", false);
  c.scale_embeddings = f.boolean("scale_embeddings", false);
  c.final_logit_softcapping = optional_number(f, "final_logit_softcapping");
  read_attention(f, c);
  read_rope(f, c);
  read_mlp(f, c);
  f.finish();
  // LitGPT turns these on by the model's name; "derived", where it is there, states the outcome.
  const bool gemma = c.name.find("Gemma") != std::string::npos;
  const bool olmo = c.name.find("OLMo") != std::string::npos;
  c.norm_unit_offset = c.norm_class == NormClass::rms_norm && gemma;
  c.norm_affine = !(c.norm_class == NormClass::layer_norm && olmo);
  if (const auto derived = root.find("derived")) {
    ConfigFields d(*derived);
    c.norm_unit_offset = c.norm_class == NormClass::rms_norm && d.boolean("rmsnorm_add_unit_offset", c.norm_unit_offset);
    c.norm_affine = c.norm_class == NormClass::rms_norm || d.boolean("layernorm_affine", c.norm_affine);
    c.tied = d.boolean("tied_embeddings", false);
  }
  return c;
}

}  // namespace reprise
