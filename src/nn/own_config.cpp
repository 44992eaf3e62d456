// SPDX-License-Identifier: Apache-2.0
#include "nn/own_config.h"

#include <fmt/format.h>

namespace reprise {
namespace {

constexpr std::int64_t kVersion = 2;

template <class V>
void visit_rope(GptConfig& c, V& v) {
  RopeScaling& s = c.rope_scaling;
  v("rotary_percentage", c.rotary_percentage), v("rope_base", c.rope_base), v("rope_condense_ratio", c.rope_condense_ratio);
  v.choice("rope_scaling", s.kind, {"none", "linear", "llama3", "yarn", "yarn_litgpt", "longrope"});
  v("rope_factor", s.factor), v("rope_low_freq_factor", s.low_freq_factor), v("rope_high_freq_factor", s.high_freq_factor);
  v("rope_original_max_seq_len", s.original_max_seq_len);
  v("rope_beta_fast", s.beta_fast), v("rope_beta_slow", s.beta_slow), v("rope_truncate", s.truncate);
  v("rope_mscale", s.mscale), v("rope_mscale_all_dim", s.mscale_all_dim), v("rope_attention_factor", s.attention_factor);
  v("rope_short_factor", s.short_factor), v("rope_long_factor", s.long_factor);
  v("rope_interleave", c.rope_interleave), v("rope_layers", c.rope_layers);
  v("rope_local_base_freq", c.rope_local_base_freq), v("rope_indices", c.rope_indices);
}

template <class V>
void visit_attention(GptConfig& c, V& v) {
  v("norm_qk", c.norm_qk);
  v.choice("norm_qk_type", c.norm_qk_type, {"per_head", "all_heads"});
  v("attention_scores_scalar", c.attention_scores_scalar), v("scale_attn_by_inverse_layer_idx", c.scale_attn_by_inverse_layer_idx);
  v("attention_logit_softcapping", c.attention_logit_softcapping), v("final_logit_softcapping", c.final_logit_softcapping);
  v("sliding_window_size", c.sliding_window_size), v("sliding_window_indices", c.sliding_window_indices);
  v("latent_attention", c.latent_attention);
}

template <class V>
void visit_mlp(GptConfig& c, V& v) {
  v.choice("mlp_class", c.mlp_class, {"gpt_neox", "llama", "gemma", "llama_moe"});
  v("gelu_tanh", c.gelu_tanh);
  v("n_expert", c.n_expert), v("n_expert_per_token", c.n_expert_per_token), v("moe_intermediate_size", c.moe_intermediate_size);
  v("n_shared_expert", c.n_shared_expert), v("first_k_dense_replace", c.first_k_dense_replace);
  v("routed_scaling_factor", c.routed_scaling_factor), v("n_expert_groups", c.n_expert_groups), v("n_topk_groups", c.n_topk_groups);
  v("n_topk_scores_per_group", c.n_topk_scores_per_group), v("norm_topk_prob", c.norm_topk_prob);
}

/// Calls `v` with every field's name and place. Enumerations by `v.choice`.
template <class V>
void visit_fields(GptConfig& c, V& v) {
  v("name", c.name), v("block_size", c.block_size), v("vocab_size", c.vocab_size), v("padded_vocab_size", c.padded_vocab_size);
  v("n_layer", c.n_layer), v("n_head", c.n_head), v("n_query_groups", c.n_query_groups), v("n_embd", c.n_embd);
  v("head_size", c.head_size), v("intermediate_size", c.intermediate_size);
  v.choice("weight_names", c.weight_names, {"litgpt", "gpt2"});
  v.choice("positions", c.positions, {"rotary", "learned"});
  v.choice("norm_class", c.norm_class, {"layer_norm", "rms_norm"});
  v("norm_eps", c.norm_eps), v("norm_affine", c.norm_affine), v("norm_unit_offset", c.norm_unit_offset);
  v("norm_1", c.norm_1), v("norm_2", c.norm_2);
  v("post_attention_norm", c.post_attention_norm), v("post_mlp_norm", c.post_mlp_norm);
  v("parallel_residual", c.parallel_residual), v("shared_attention_norm", c.shared_attention_norm);
  v("bias", c.bias), v("attn_bias", c.attn_bias), v("lm_head_bias", c.lm_head_bias), v("tied", c.tied);
  v("scale_embeddings", c.scale_embeddings);
  visit_attention(c, v);
  visit_mlp(c, v);
  visit_rope(c, v);
  v("initializer_range", c.initializer_range);
}

template <class V>
void visit_latent(LatentAttention& latent, V& v) {
  v("q_lora_rank", latent.q_lora_rank), v("kv_lora_rank", latent.kv_lora_rank), v("qk_rope_head_dim", latent.qk_rope_head_dim);
  v("qk_nope_head_dim", latent.qk_nope_head_dim), v("v_head_dim", latent.v_head_dim), v("norm_eps", latent.norm_eps);
}

/// Reads fields; those that the file's version lacks keep their value.
struct Reader {
  ConfigFields& f;
  bool complete = true;

  template <class T>
  std::optional<T> fallback(const T& value) const {
    return complete ? std::nullopt : std::optional<T>(value);
  }
  void operator()(const char* key, std::int64_t& value) { value = f.integer(key, fallback(value)); }
  void operator()(const char* key, double& value) { value = f.number(key, fallback(value)); }
  void operator()(const char* key, bool& value) { value = f.boolean(key, fallback(value)); }
  void operator()(const char* key, std::string& value) { value = f.string(key, fallback(value)); }
  void operator()(const char* key, std::optional<double>& value) {
    if (f.has(key)) value = f.number(key);
  }
  void operator()(const char* key, std::optional<std::int64_t>& value) {
    if (f.has(key)) value = f.integer(key);
  }
  void operator()(const char* key, std::vector<double>& values) {
    const auto list = f.find(key);
    for (std::size_t i = 0; list && i < list->size(); ++i) values.push_back(list->item(i).number());
  }
  void operator()(const char* key, LayerPattern& layers) {
    const auto list = f.find(key);
    if (!list) return;
    std::vector<bool> period;
    for (std::size_t i = 0; i < list->size(); ++i) period.push_back(list->item(i).boolean());
    if (period.empty()) list->fail("must not be empty");
    layers = LayerPattern(period);
  }
  void operator()(const char* key, std::optional<LatentAttention>& value) {
    const auto member = f.find(key);
    if (!member) return;
    ConfigFields inner(*member);
    Reader reader{inner};
    visit_latent(value.emplace(), reader);
    inner.finish();
  }
  template <class E>
  void choice(const char* key, E& value, std::initializer_list<std::string_view> names) {
    value = static_cast<E>(f.choice(key, names, fallback(static_cast<std::size_t>(value))));
  }
};

struct Writer {
  Json& json;

  template <class T>
  void operator()(const char* key, const T& value) {
    json.set(key, Json(value));
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    json.set(key, value ? Json(*value) : Json());
  }
  void operator()(const char* key, const std::vector<double>& values) {
    Json list = Json::array();
    for (const double value : values) list.push_back(Json(value));
    json.set(key, std::move(list));
  }
  void operator()(const char* key, const LayerPattern& layers) {
    Json list = Json::array();
    for (const bool layer : layers.period()) list.push_back(Json(layer));
    json.set(key, std::move(list));
  }
  void operator()(const char* key, std::optional<LatentAttention>& value) {
    if (!value) return json.set(key, Json());
    Json inner = Json::object();
    Writer writer{inner};
    visit_latent(*value, writer);
    json.set(key, std::move(inner));
  }
  template <class E>
  void choice(const char* key, E value, std::initializer_list<std::string_view> names) {
    json.set(key, Json(std::string(names.begin()[static_cast<std::size_t>(value)])));
  }
};

}  // namespace

GptConfig read_own_config(ConfigFields& f) {
  f.ignore({"model_type", "architectures"});
  const std::int64_t version = f.integer("format_version");
  if (version > kVersion) f.view().fail(fmt::format("format version {} is newer than this reprise reads: {}", version, kVersion));
  GptConfig c;
  Reader reader{f, version == kVersion};
  visit_fields(c, reader);
  return c;
}

Json write_own_config(GptConfig config) {
  Json json = Json::object();
  json.set("model_type", Json(kOwnConfigType));
  json.set("format_version", Json(kVersion));
  Writer writer{json};
  visit_fields(config, writer);
  return json;
}

}  // namespace reprise
