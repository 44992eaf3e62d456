// SPDX-License-Identifier: Apache-2.0
// One function per family lists its keys with the defaults of transformers' configuration classes, and says what the family does
// that no key says. FamilyReader and FamilyWriter run it. A writer's config takes on what the family does too: a structure that
// differs there does not read back as it was.
#include "nn/family_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "nn/family_fields.h"
#include "nn/inert_keys.h"

namespace reprise {
namespace {

constexpr std::string_view kSilu = "silu swish";
constexpr std::string_view kGelu = "gelu gelu_python";
constexpr std::string_view kGeluTanh = "gelu_pytorch_tanh gelu_new";

std::int64_t default_head_size(const GptConfig& c) { return c.n_embd / std::max<std::int64_t>(1, c.n_head); }

LayerPattern pattern_of(std::int64_t n_layer, bool (*has)(std::int64_t layer, std::int64_t n), std::int64_t n) {
  std::vector<bool> layers;
  for (std::int64_t layer = 0; layer < n_layer; ++layer) layers.push_back(has(layer, n));
  return layers.empty() ? LayerPattern(true) : LayerPattern(std::move(layers));
}

// ---- what several families share -----------------------------------------------------------------------------------------

template <class V>
void visit_vocabulary(GptConfig& c, V& v, bool tied_by_default) {
  v.text("_name_or_path", c.name);
  v.size("vocab_size", c.padded_vocab_size);
  if (V::kReads || c.vocab_size != c.padded_vocab_size) v.size("unpadded_vocab_size", c.vocab_size, c.padded_vocab_size);
  v.flag("tie_word_embeddings", c.tied, tied_by_default);
  v.number("initializer_range", c.initializer_range, 0.02);
}

/// Sizes of a decoder with grouped queries.
template <class V>
void visit_sizes(GptConfig& c, V& v) {
  v.size("max_position_embeddings", c.block_size);
  v.size("hidden_size", c.n_embd);
  v.size("num_hidden_layers", c.n_layer);
  v.size("num_attention_heads", c.n_head);
  v.require(c.n_layer <= kMostLayers, "num_hidden_layers is out of range");  // lists with an entry for each are made below
  v.size("num_key_value_heads", c.n_query_groups, c.n_head);
  v.size("intermediate_size", c.intermediate_size);
  if constexpr (V::kReads) c.head_size = default_head_size(c);
  else v.set_layer_count(c.n_layer);
}

template <class V>
void visit_silu(GptConfig& c, V& v) {
  bool is_silu = true;
  v.choice("hidden_act", is_silu, "", kSilu, true);
  c.gelu_tanh = false;
}

/// Llama and what grew from it: RMSNorm before attention and MLP, a gated MLP, no biases.
template <class V>
void visit_llama_like(GptConfig& c, V& v, bool tied_by_default, double eps = 1e-6) {
  visit_vocabulary(c, v, tied_by_default);
  visit_sizes(c, v);
  visit_silu(c, v);
  v.number("rms_norm_eps", c.norm_eps, eps);
  c.norm_class = NormClass::rms_norm;
  c.mlp_class = MlpClass::llama;
  if constexpr (V::kReads) c.bias = false;  // some have keys for it
}

/// Biases of all linear layers or of none.
template <class V>
void visit_biases(GptConfig& c, V& v) {
  bool mlp_bias = c.bias;
  v.flag("attention_bias", c.bias, false);
  v.flag("mlp_bias", mlp_bias, false);
  v.require(mlp_bias == c.bias, "attention_bias without mlp_bias (or the other way round) is not supported");
}

/// A window in every layer.
template <class V>
void visit_window(GptConfig& c, V& v, std::optional<std::int64_t> fallback) {
  v.optional("sliding_window", c.sliding_window_size, fallback);
  if constexpr (V::kReads) v.layer_types(c, LayerPattern(true));
}

/// Qwen's window: off, or in the layers from `max_window_layers` on.
template <class V>
void visit_qwen_window(GptConfig& c, V& v) {
  bool used = c.sliding_window_size.has_value();
  v.flag("use_sliding_window", used, false);
  v.optional("sliding_window", c.sliding_window_size, 4096);
  std::int64_t first = c.n_layer;
  for (std::int64_t layer = c.n_layer; layer-- > 0 && c.window(layer) > 0;) first = layer;
  v.size("max_window_layers", first, 28);
  if constexpr (V::kReads) {
    if (!used) c.sliding_window_size.reset();
  }
  v.layer_types(c, pattern_of(c.n_layer, [](std::int64_t layer, std::int64_t n) { return layer >= n; }, first));
}

/// Experts that a router chooses by the softmax of their logits, made to add up to 1 over those chosen.
template <class V>
void visit_plain_router(GptConfig& c, V& v, std::string_view count_key, std::int64_t chosen) {
  c.mlp_class = MlpClass::llama_moe;
  v.size(count_key, c.n_expert);
  v.size("num_experts_per_tok", c.n_expert_per_token, chosen);
  v.fixed("output_router_logits", false);
}

// ---- the families --------------------------------------------------------------------------------------------------------

template <class V>
void visit_gpt2(GptConfig& c, V& v) {
  visit_vocabulary(c, v, true);
  v.size("n_positions", c.block_size);
  v.size("n_embd", c.n_embd);
  v.size("n_layer", c.n_layer);
  v.size("n_head", c.n_head);
  v.size("n_inner", c.intermediate_size, 4 * c.n_embd);
  v.choice("activation_function", c.gelu_tanh, kGelu, "gelu_new gelu_pytorch_tanh", true);
  v.number("layer_norm_epsilon", c.norm_eps, 1e-5);
  v.flag("scale_attn_by_inverse_layer_idx", c.scale_attn_by_inverse_layer_idx, false);
  v.fixed("scale_attn_weights", true);
  if constexpr (V::kReads) c.head_size = default_head_size(c);
  c.n_query_groups = c.n_head;
  c.weight_names = WeightNames::gpt2;
  c.positions = Positions::learned;
}

template <class V>
void visit_gpt_neox(GptConfig& c, V& v) {
  visit_vocabulary(c, v, false);
  v.size("max_position_embeddings", c.block_size);
  v.size("hidden_size", c.n_embd);
  v.size("num_hidden_layers", c.n_layer);
  v.size("num_attention_heads", c.n_head);
  v.size("intermediate_size", c.intermediate_size);
  v.choice("hidden_act", c.gelu_tanh, kGelu, "gelu_new gelu_pytorch_tanh gelu_fast", false);
  v.number("layer_norm_eps", c.norm_eps, 1e-5);
  v.flag("use_parallel_residual", c.parallel_residual, true);
  v.fixed("attention_bias", true);
  v.rope(c, {.base = "rotary_emb_base", .share = "rotary_pct", .default_share = 0.25});
  if constexpr (V::kReads) c.head_size = default_head_size(c);
  c.n_query_groups = c.n_head;
}

template <class V>
void visit_falcon(GptConfig& c, V& v) {
  visit_vocabulary(c, v, true);
  v.size("max_position_embeddings", c.block_size, 2048);
  v.size("hidden_size", c.n_embd);
  v.size("num_hidden_layers", c.n_layer);
  v.size("num_attention_heads", c.n_head);
  v.size("ffn_hidden_size", c.intermediate_size, 4 * c.n_embd);
  v.choice("activation", c.gelu_tanh, kGelu, "gelu_new gelu_pytorch_tanh", false);
  v.number("layer_norm_epsilon", c.norm_eps, 1e-5);
  bool grouped = (c.n_query_groups != 1 && c.n_query_groups != c.n_head) || (c.parallel_residual && !c.shared_attention_norm);
  bool multi_query = !grouped && c.n_query_groups == 1;
  v.flag("new_decoder_architecture", grouped, false);
  v.flag("multi_query", multi_query, true);
  v.flag("parallel_attn", c.parallel_residual, true);
  v.flag("bias", c.bias, false);
  v.require(!grouped || c.parallel_residual, "new_decoder_architecture without parallel_attn is not supported");
  std::int64_t key_heads = c.n_query_groups;
  v.size("num_kv_heads", key_heads, c.n_head);
  if constexpr (V::kReads) {
    if (grouped) c.n_query_groups = key_heads;
    else c.n_query_groups = multi_query ? 1 : c.n_head;
    c.head_size = default_head_size(c);
  }
  // The newer models have a norm each for attention and MLP, unless told that one is enough.
  std::optional<std::int64_t> norms;
  if (grouped && !V::kReads) norms = c.shared_attention_norm ? 1 : 2;
  v.optional("num_ln_in_parallel_attn", norms);
  v.require(norms.value_or(2) == 1 || norms.value_or(2) == 2, "num_ln_in_parallel_attn must be 1 or 2");
  if constexpr (V::kReads) c.shared_attention_norm = c.parallel_residual && !(grouped && norms.value_or(2) == 2);
  v.fixed("alibi", false);
  v.fixed("apply_residual_connection_post_layernorm", false);
  v.rope(c, {});
}

template <class V>
void visit_llama(GptConfig& c, V& v) {
  visit_llama_like(c, v, false);
  v.size("head_dim", c.head_size, c.head_size);
  visit_biases(c, v);
  if constexpr (V::kReads) {
    v.null("sliding_window");
    v.layer_types(c, LayerPattern(false));
  }
  v.rope(c, {});
}

template <class V>
void visit_mistral(GptConfig& c, V& v) {
  visit_llama_like(c, v, false);
  v.size("head_dim", c.head_size, c.head_size);
  visit_window(c, v, 4096);
  v.rope(c, {});
}

template <class V>
void visit_mixtral(GptConfig& c, V& v) {
  visit_llama_like(c, v, false, 1e-5);
  v.size("head_dim", c.head_size, c.head_size);
  visit_window(c, v, std::nullopt);
  visit_plain_router(c, v, "num_local_experts", 2);
  v.fixed("router_jitter_noise", 0);
  v.rope(c, {.default_base = 1000000});
}

template <class V>
void visit_qwen2(GptConfig& c, V& v) {
  visit_llama_like(c, v, false);
  if (V::kReads || c.head_size != default_head_size(c)) v.size("head_dim", c.head_size, c.head_size);
  c.attn_bias = true;
  visit_qwen_window(c, v);
  v.rope(c, {});
}

/// Norms of every head's query and key.
void set_head_norms(GptConfig& c) {
  c.norm_qk = true;
  c.norm_qk_type = NormQkType::per_head;
}

template <class V>
void visit_qwen3(GptConfig& c, V& v) {
  visit_llama_like(c, v, false);
  v.size("head_dim", c.head_size, 128);
  v.fixed("attention_bias", false);
  set_head_norms(c);
  visit_qwen_window(c, v);
  v.rope(c, {});
}

template <class V>
void visit_qwen3_moe(GptConfig& c, V& v) {
  visit_llama_like(c, v, false);
  v.size("head_dim", c.head_size, c.head_size);
  v.fixed("attention_bias", false);
  set_head_norms(c);
  visit_qwen_window(c, v);
  v.require(!c.sliding_window_size, "use_sliding_window is not supported in this family");
  visit_plain_router(c, v, v.has("num_local_experts") ? "num_local_experts" : "num_experts", 8);
  v.size("moe_intermediate_size", c.moe_intermediate_size, 768);
  bool normalised = true;
  v.flag("norm_topk_prob", normalised, false);
  v.require(normalised, "norm_topk_prob false is not supported");
  v.fixed("decoder_sparse_step", 1);
  v.empty_list("mlp_only_layers");
  v.rope(c, {});
}

/// Gemma: norms by 1 + weight, scaled embeddings, a MLP with gelu.
template <class V>
void visit_gemma_like(GptConfig& c, V& v) {
  visit_vocabulary(c, v, true);
  visit_sizes(c, v);
  v.size("head_dim", c.head_size, 256);
  v.number("rms_norm_eps", c.norm_eps, 1e-6);
  v.fixed("attention_bias", false);
  v.fixed("use_bidirectional_attention", false);
  c.norm_class = NormClass::rms_norm;
  c.norm_unit_offset = true;
  c.scale_embeddings = true;
  c.mlp_class = MlpClass::gemma;
  c.bias = false;
}

template <class V>
void visit_gemma(GptConfig& c, V& v) {
  visit_gemma_like(c, v);
  // The first files say hidden_act "gelu" and mean the tanh form, as transformers takes it; hidden_activation is what it says.
  bool tanh = true;
  v.choice("hidden_act", tanh, "", "gelu_pytorch_tanh gelu_new gelu", true);
  v.choice("hidden_activation", c.gelu_tanh, kGelu, kGeluTanh, true);
  v.rope(c, {});
}

/// Gemma 2 and 3: norms around attention and MLP, windows in some layers, a scale of the scores of their own.
template <class V>
void visit_gemma2_like(GptConfig& c, V& v, const LayerPattern& window_layers) {
  visit_gemma_like(c, v);
  v.choice("hidden_activation", c.gelu_tanh, kGelu, kGeluTanh, true);
  c.post_attention_norm = c.post_mlp_norm = true;
  v.optional("query_pre_attn_scalar", c.attention_scores_scalar, 256);
  v.optional("sliding_window", c.sliding_window_size, 4096);
  v.layer_types(c, window_layers);
}

template <class V>
void visit_gemma2(GptConfig& c, V& v) {
  visit_gemma2_like(c, v, LayerPattern(std::vector<bool>{true, false}));
  v.optional("attn_logit_softcapping", c.attention_logit_softcapping, 50);
  v.optional("final_logit_softcapping", c.final_logit_softcapping, 30);
  v.rope(c, {});
}

template <class V>
void visit_gemma3(GptConfig& c, V& v) {
  // Every so many layers one is without the window.
  std::int64_t period = static_cast<std::int64_t>(c.sliding_window_indices.period().size());
  if (V::kReads || period > 1) v.size(v.has("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern", period, 6);
  std::vector<bool> layers(static_cast<std::size_t>(std::clamp<std::int64_t>(period, 1, 1000000)), true);
  layers.back() = false;
  visit_gemma2_like(c, v, LayerPattern(std::move(layers)));
  set_head_norms(c);
  v.optional("attn_logit_softcapping", c.attention_logit_softcapping);
  v.optional("final_logit_softcapping", c.final_logit_softcapping);
  v.rope_by_layer_type(c);
}

template <class V>
void visit_olmo(GptConfig& c, V& v) {
  visit_vocabulary(c, v, false);
  visit_sizes(c, v);
  visit_silu(c, v);
  v.fixed("attention_bias", false);
  v.null("clip_qkv");
  c.norm_class = NormClass::layer_norm;
  c.norm_affine = false;
  c.norm_eps = 1e-5;
  c.mlp_class = MlpClass::llama;
  c.bias = false;
  v.rope(c, {});
}

template <class V>
void visit_olmo2(GptConfig& c, V& v) {
  visit_llama_like(c, v, false, 1e-5);
  if (V::kReads || c.head_size != default_head_size(c)) v.size("head_dim", c.head_size, c.head_size);
  v.fixed("attention_bias", false);
  c.norm_1 = c.norm_2 = false;
  c.post_attention_norm = c.post_mlp_norm = true;
  c.norm_qk = true;
  c.norm_qk_type = NormQkType::all_heads;
  v.rope(c, {});
}

template <class V>
void visit_phi(GptConfig& c, V& v) {
  visit_vocabulary(c, v, false);
  visit_sizes(c, v);
  if (V::kReads || c.head_size != default_head_size(c)) v.size("head_dim", c.head_size, c.head_size);
  v.choice("hidden_act", c.gelu_tanh, kGelu, "gelu_new gelu_pytorch_tanh", true);
  v.number("layer_norm_eps", c.norm_eps, 1e-5);
  v.fixed("qk_layernorm", false);
  c.parallel_residual = c.shared_attention_norm = true;
  c.lm_head_bias = true;
  v.rope(c, {.default_share = 0.5});
}

template <class V>
void visit_phi3(GptConfig& c, V& v) {
  visit_llama_like(c, v, false, 1e-5);
  for (const char* key : {"attention_bias", "mlp_bias", "lm_head_bias"}) v.fixed(key, false);
  for (const char* key : {"full_attn_mod", "interpolate_factor"}) {
    if constexpr (V::kReads) v.fixed(key, 1);
  }
  visit_window(c, v, std::nullopt);
  v.rope(c, {.original_length_outside = true});
}

template <class V>
void visit_stablelm(GptConfig& c, V& v) {
  visit_vocabulary(c, v, false);
  visit_sizes(c, v);
  visit_silu(c, v);
  v.number("layer_norm_eps", c.norm_eps, 1e-5);
  v.flag("use_qkv_bias", c.attn_bias, false);
  v.flag("use_parallel_residual", c.parallel_residual, false);
  v.fixed("qk_layernorm", false);
  c.shared_attention_norm = c.parallel_residual;
  c.mlp_class = MlpClass::llama;
  c.bias = false;
  v.rope(c, {.default_share = 0.25});
}

template <class V>
void visit_starcoder2(GptConfig& c, V& v) {
  visit_vocabulary(c, v, true);
  visit_sizes(c, v);
  v.choice("hidden_act", c.gelu_tanh, kGelu, kGeluTanh, true);
  v.number("norm_epsilon", c.norm_eps, 1e-5);
  v.flag("use_bias", c.bias, true);
  for (const auto& [key, value] : {std::pair{"mlp_type", "default"}, {"norm_type", "layer_norm"}}) {
    if constexpr (V::kReads) v.fixed(key, value);
  }
  if constexpr (V::kReads) v.fixed("scale_attn_weights", true);
  visit_window(c, v, std::nullopt);
  v.rope(c, {});
}

template <class V>
void visit_smollm3(GptConfig& c, V& v) {
  visit_llama_like(c, v, true);
  if (V::kReads || c.head_size != default_head_size(c)) v.size("head_dim", c.head_size, c.head_size);
  visit_biases(c, v);
  std::int64_t interval = 4;
  if constexpr (V::kReads) v.size("no_rope_layer_interval", interval, 4);
  v.require(interval >= 1, "no_rope_layer_interval must be at least 1");
  v.layers(
      "no_rope_layers", c.rope_layers,
      pattern_of(c.n_layer, [](std::int64_t layer, std::int64_t n) { return (layer + 1) % std::max<std::int64_t>(1, n) != 0; }, interval));
  bool used = c.sliding_window_size.has_value();
  v.flag("use_sliding_window", used, false);
  v.optional("sliding_window", c.sliding_window_size);
  if (V::kReads && !used) c.sliding_window_size.reset();
  v.layer_types(c, LayerPattern(false));
  v.rope(c, {.default_base = 2000000});
}

template <class V>
void visit_deepseek_v3(GptConfig& c, V& v) {
  visit_llama_like(c, v, false);
  v.require(c.n_query_groups == c.n_head, "num_key_value_heads must be num_attention_heads");
  LatentAttention latent = c.latent_attention.value_or(LatentAttention{});
  std::optional<std::int64_t> q_rank;
  if (latent.q_lora_rank > 0) q_rank = latent.q_lora_rank;
  v.optional("q_lora_rank", q_rank, 1536);
  v.size("kv_lora_rank", latent.kv_lora_rank, 512);
  v.size("qk_rope_head_dim", latent.qk_rope_head_dim, 64);
  v.size("qk_nope_head_dim", latent.qk_nope_head_dim, 128);
  v.size("v_head_dim", latent.v_head_dim, 128);
  latent.q_lora_rank = q_rank.value_or(0);
  latent.norm_eps = 1e-6;
  c.latent_attention = latent;
  c.head_size = latent.qk_nope_head_dim + latent.qk_rope_head_dim;
  v.fixed("attention_bias", false);
  v.flag("rope_interleave", c.rope_interleave, true);
  c.mlp_class = MlpClass::llama_moe;
  v.size("n_routed_experts", c.n_expert, 256);
  v.size("num_experts_per_tok", c.n_expert_per_token, 8);
  v.size("n_shared_experts", c.n_shared_expert, 1);
  v.size("moe_intermediate_size", c.moe_intermediate_size, 2048);
  v.size("first_k_dense_replace", c.first_k_dense_replace, 3);
  v.size("n_group", c.n_expert_groups, 8);
  v.size("topk_group", c.n_topk_groups, 4);
  c.n_topk_scores_per_group = 2;
  v.number("routed_scaling_factor", c.routed_scaling_factor, 2.5);
  v.flag("norm_topk_prob", c.norm_topk_prob, true);
  v.fixed("moe_layer_freq", 1);
  v.fixed("scoring_func", "sigmoid");
  v.fixed("topk_method", "noaux_tc");
  if constexpr (V::kReads) v.fixed("output_router_logits", false);
  v.rope(c, {});
}

template <class V>
void visit_family(ModelFamily family, GptConfig& c, V& v) {
  switch (family) {
    case ModelFamily::own: throw InternalError("a model of no family has no family's keys");
    case ModelFamily::gpt2: return visit_gpt2(c, v);
    case ModelFamily::gpt_neox: return visit_gpt_neox(c, v);
    case ModelFamily::falcon: return visit_falcon(c, v);
    case ModelFamily::llama: return visit_llama(c, v);
    case ModelFamily::mistral: return visit_mistral(c, v);
    case ModelFamily::mixtral: return visit_mixtral(c, v);
    case ModelFamily::qwen2: return visit_qwen2(c, v);
    case ModelFamily::qwen3: return visit_qwen3(c, v);
    case ModelFamily::qwen3_moe: return visit_qwen3_moe(c, v);
    case ModelFamily::gemma: return visit_gemma(c, v);
    case ModelFamily::gemma2: return visit_gemma2(c, v);
    case ModelFamily::gemma3: return visit_gemma3(c, v);
    case ModelFamily::olmo: return visit_olmo(c, v);
    case ModelFamily::olmo2: return visit_olmo2(c, v);
    case ModelFamily::phi: return visit_phi(c, v);
    case ModelFamily::phi3: return visit_phi3(c, v);
    case ModelFamily::stablelm: return visit_stablelm(c, v);
    case ModelFamily::starcoder2: return visit_starcoder2(c, v);
    case ModelFamily::smollm3: return visit_smollm3(c, v);
    case ModelFamily::deepseek_v3: return visit_deepseek_v3(c, v);
  }
}

}  // namespace

GptConfig read_family_config(ModelFamily family, ConfigFields& f) {
  f.ignore(common_inert_keys());
  f.ignore(inert_keys(family));
  GptConfig config;
  FamilyReader reader(f);
  // Of every family: a file that says otherwise is of another kind of model, or holds other numbers than weights.
  for (const char* key : {"is_encoder_decoder", "add_cross_attention", "tie_encoder_decoder"}) reader.fixed(key, false);
  for (const char* key : {"quantization_config", "cross_attention_hidden_size"}) reader.null(key);
  reader.empty_list("pruned_heads");
  visit_family(family, config, reader);
  return config;
}

Json write_family_config(ModelFamily family, GptConfig config) {
  const FamilyRow& row = family_row(family);
  Json json = Json::object();
  json.set("architectures", Json::array({Json(row.architecture)}));
  json.set("model_type", Json(row.model_type));
  FamilyWriter writer(json);
  visit_family(family, config, writer);
  return json;
}

}  // namespace reprise
