// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt_config_json.h"

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "nn/config_fields.h"

namespace reprise {
namespace {

constexpr std::string_view kOwnType = "reprise";
constexpr std::int64_t kOwnVersion = 1;

// ---- LitGPT's fields -----------------------------------------------------------------------------------------------------

RopeScaling litgpt_scaling(const JsonView& view) {
  ConfigFields f(view);
  RopeScaling scaling;
  scaling.factor = f.number("factor");
  scaling.kind = RopeScaling::Kind::linear;
  if (f.has("low_freq_factor")) {
    scaling.kind = RopeScaling::Kind::llama3;
    scaling.low_freq_factor = f.number("low_freq_factor");
    scaling.high_freq_factor = f.number("high_freq_factor");
    scaling.original_max_seq_len = f.integer("original_max_seq_len");
  }
  f.finish();
  return scaling;
}

GptConfig read_litgpt(const JsonView& root) {
  ConfigFields f(root.at("litgpt"));
  for (const char* key : {"latent_attention", "norm_qk", "attention_logit_softcapping", "final_logit_softcapping", "sliding_window_size",
                          "post_attention_norm", "post_mlp_norm", "n_expert", "rope_interleave", "rope_local_base_freq",
                          "n_shared_expert", "first_k_dense_replace"}) {
    f.refuse(key);
  }
  f.require("norm_1", true);
  f.require("norm_2", true);
  // Settings of what is refused above.
  f.ignore({"norm_qk_type", "sliding_window_indices", "rope_indices", "moe_intermediate_size", "n_expert_groups", "n_topk_groups",
            "n_topk_scores_per_group", "n_expert_per_token", "routed_scaling_factor", "norm_topk_prob", "padding_multiple", "hf_config",
            "scale_attn_by_inverse_layer_idx"});
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
  c.mlp_class = static_cast<MlpClass>(f.choice("mlp_class_name", {"GptNeoxMLP", "LLaMAMLP", "GemmaMLP"}, 0));
  c.intermediate_size = f.integer("intermediate_size", 4 * c.n_embd);
  c.norm_class = static_cast<NormClass>(f.choice("norm_class_name", {"LayerNorm", "RMSNorm"}, 0));
  c.norm_eps = f.number("norm_eps", 1e-5);
  c.parallel_residual = f.boolean("parallel_residual", true);
  c.shared_attention_norm = f.boolean("shared_attention_norm", false);
  c.bias = f.boolean("bias", true);
  c.attn_bias = f.boolean("attn_bias", false);
  c.lm_head_bias = f.boolean("lm_head_bias", false);
  c.scale_embeddings = f.boolean("scale_embeddings", false);
  c.gelu_tanh = f.choice("gelu_approximate", {"none", "tanh"}, 0) == 1;
  if (f.has("attention_scores_scalar")) c.attention_scores_scalar = f.number("attention_scores_scalar");
  c.rotary_percentage = f.number("rotary_percentage", 0.25);
  c.rope_base = f.number("rope_base", 10000);
  c.rope_condense_ratio = f.integer("rope_condense_ratio", 1);
  if (const auto scaling = f.find("rope_adjustments")) c.rope_scaling = litgpt_scaling(*scaling);
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

// ---- Hugging Face's families ---------------------------------------------------------------------------------------------

/// Keys of every family that name tokens, precision or defaults of generation.
void ignore_common(ConfigFields& f) {
  f.ignore({"architectures", "model_type", "bos_token_id", "eos_token_id", "pad_token_id", "torch_dtype", "dtype", "transformers_version",
            "use_cache", "classifier_dropout", "gradient_checkpointing", "pretraining_tp", "is_decoder", "max_window_layers",
            "task_specific_params"});
}

/// What every family has under the same keys.
void read_common(ConfigFields& f, GptConfig& c, bool tied_by_default) {
  ignore_common(f);
  c.name = f.string("_name_or_path", "");
  c.padded_vocab_size = f.integer("vocab_size");
  c.vocab_size = f.integer("unpadded_vocab_size", c.padded_vocab_size);
  c.tied = f.boolean("tie_word_embeddings", tied_by_default);
  c.initializer_range = f.number("initializer_range", 0.02);
}

GptConfig read_gpt2(ConfigFields& f) {
  GptConfig c;
  read_common(f, c, true);
  f.ignore({"n_ctx", "reorder_and_upcast_attn", "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
            "summary_first_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop"});
  f.require("scale_attn_weights", true);
  f.require("add_cross_attention", false);
  c.weight_names = WeightNames::gpt2;
  c.positions = Positions::learned;
  c.block_size = f.integer("n_positions");
  c.n_embd = f.integer("n_embd");
  c.n_layer = f.integer("n_layer");
  c.n_head = c.n_query_groups = f.integer("n_head");
  c.head_size = c.n_embd / std::max<std::int64_t>(1, c.n_head);
  c.intermediate_size = f.integer("n_inner", 4 * c.n_embd);
  c.gelu_tanh = f.choice("activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu"}, 0) < 2;
  c.norm_eps = f.number("layer_norm_epsilon", 1e-5);
  c.scale_attn_by_inverse_layer_idx = f.boolean("scale_attn_by_inverse_layer_idx", false);
  return c;
}

RopeScaling read_scaling(ConfigFields& f) {
  RopeScaling scaling;
  const char* type_key = f.has("rope_type") ? "rope_type" : "type";
  scaling.kind = static_cast<RopeScaling::Kind>(f.choice(type_key, {"default", "linear", "llama3"}, 0));
  if (scaling.kind == RopeScaling::Kind::none) return scaling;
  scaling.factor = f.number("factor");
  if (scaling.kind == RopeScaling::Kind::llama3) {
    scaling.low_freq_factor = f.number("low_freq_factor");
    scaling.high_freq_factor = f.number("high_freq_factor");
    scaling.original_max_seq_len = f.integer("original_max_position_embeddings");
  }
  return scaling;
}

/// `rope_scaling` beside the base's own key, or `rope_parameters` with everything.
void read_rope(ConfigFields& f, GptConfig& c, const char* base_key, const char* share_key) {
  c.rope_base = f.number(base_key, 10000);
  c.rotary_percentage = f.number(share_key, c.rotary_percentage);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto member = f.find(key);
    if (!member) continue;
    ConfigFields inner(*member);
    c.rope_scaling = read_scaling(inner);
    c.rope_base = inner.number("rope_theta", c.rope_base);
    c.rotary_percentage = inner.number("partial_rotary_factor", c.rotary_percentage);
    inner.finish();
  }
}

GptConfig read_llama(ConfigFields& f, std::string_view family) {
  GptConfig c;
  read_common(f, c, false);
  c.norm_class = NormClass::rms_norm;
  c.mlp_class = MlpClass::llama;
  c.block_size = f.integer("max_position_embeddings");
  c.n_embd = f.integer("hidden_size");
  c.n_layer = f.integer("num_hidden_layers");
  c.n_head = f.integer("num_attention_heads");
  c.n_query_groups = f.integer("num_key_value_heads", c.n_head);
  c.head_size = f.integer("head_dim", c.n_embd / std::max<std::int64_t>(1, c.n_head));
  c.intermediate_size = f.integer("intermediate_size");
  f.choice("hidden_act", {"silu"}, 0);
  c.norm_eps = f.number("rms_norm_eps", 1e-6);
  f.refuse("attention_dropout");
  read_rope(f, c, "rope_theta", "partial_rotary_factor");
  c.bias = false;
  if (family == "llama") {
    c.bias = f.boolean("attention_bias", false);
    if (f.boolean("mlp_bias", false) != c.bias) f.view().fail("attention_bias without mlp_bias (or the other way round) is not supported yet");
  }
  c.attn_bias = family == "qwen2";
  const bool window_off = family == "qwen2" && !f.boolean("use_sliding_window", false);
  if (window_off) f.ignore({"sliding_window"});
  else f.refuse("sliding_window");
  if (const auto types = f.find("layer_types")) {
    for (std::size_t i = 0; i < types->size(); ++i) {
      if (types->item(i).string() != "full_attention") types->item(i).fail("is not supported yet; only full_attention is");
    }
  }
  return c;
}

GptConfig read_gpt_neox(ConfigFields& f) {
  GptConfig c;
  read_common(f, c, false);
  c.block_size = f.integer("max_position_embeddings");
  c.n_embd = f.integer("hidden_size");
  c.n_layer = f.integer("num_hidden_layers");
  c.n_head = c.n_query_groups = f.integer("num_attention_heads");
  c.head_size = c.n_embd / std::max<std::int64_t>(1, c.n_head);
  c.intermediate_size = f.integer("intermediate_size");
  c.gelu_tanh = f.choice("hidden_act", {"gelu", "gelu_new", "gelu_pytorch_tanh"}, 0) > 0;
  c.norm_eps = f.number("layer_norm_eps", 1e-5);
  c.parallel_residual = f.boolean("use_parallel_residual", true);
  f.require("attention_bias", true);
  f.refuse("attention_dropout");
  f.refuse("hidden_dropout");
  c.rotary_percentage = 0.25;
  read_rope(f, c, f.has("rope_theta") ? "rope_theta" : "rotary_emb_base", f.has("partial_rotary_factor") ? "partial_rotary_factor" : "rotary_pct");
  return c;
}

void put_common(Json& json, const GptConfig& c, std::string_view architecture, std::string_view type) {
  Json architectures = Json::array();
  architectures.push_back(Json(architecture));
  json.set("architectures", std::move(architectures));
  json.set("model_type", Json(type));
  if (!c.name.empty()) json.set("_name_or_path", Json(c.name));
  json.set("vocab_size", Json(c.padded_vocab_size));
  if (c.vocab_size != c.padded_vocab_size) json.set("unpadded_vocab_size", Json(c.vocab_size));
  json.set("tie_word_embeddings", Json(c.tied));
  json.set("initializer_range", Json(c.initializer_range));
}

Json write_gpt2(const GptConfig& c) {
  Json json = Json::object();
  put_common(json, c, "GPT2LMHeadModel", "gpt2");
  json.set("n_positions", Json(c.block_size));
  json.set("n_embd", Json(c.n_embd));
  json.set("n_layer", Json(c.n_layer));
  json.set("n_head", Json(c.n_head));
  json.set("n_inner", Json(c.intermediate_size));
  json.set("activation_function", Json(c.gelu_tanh ? "gelu_new" : "gelu"));
  json.set("layer_norm_epsilon", Json(c.norm_eps));
  json.set("scale_attn_by_inverse_layer_idx", Json(c.scale_attn_by_inverse_layer_idx));
  for (const char* key : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) json.set(key, Json(0.0));
  return json;
}

void put_rope_scaling(Json& json, const RopeScaling& scaling) {
  if (scaling.kind == RopeScaling::Kind::none) return json.set("rope_scaling", Json());
  Json inner = Json::object();
  inner.set("rope_type", Json(scaling.kind == RopeScaling::Kind::linear ? "linear" : "llama3"));
  inner.set("factor", Json(scaling.factor));
  if (scaling.kind == RopeScaling::Kind::llama3) {
    inner.set("low_freq_factor", Json(scaling.low_freq_factor));
    inner.set("high_freq_factor", Json(scaling.high_freq_factor));
    inner.set("original_max_position_embeddings", Json(scaling.original_max_seq_len));
  }
  json.set("rope_scaling", std::move(inner));
}

Json write_llama(const GptConfig& c) {
  Json json = Json::object();
  if (c.attn_bias) {
    put_common(json, c, "Qwen2ForCausalLM", "qwen2");
  } else {
    put_common(json, c, "LlamaForCausalLM", "llama");
    json.set("attention_bias", Json(c.bias));
    json.set("mlp_bias", Json(c.bias));
    json.set("head_dim", Json(c.head_size));
  }
  json.set("max_position_embeddings", Json(c.block_size));
  json.set("hidden_size", Json(c.n_embd));
  json.set("num_hidden_layers", Json(c.n_layer));
  json.set("num_attention_heads", Json(c.n_head));
  json.set("num_key_value_heads", Json(c.n_query_groups));
  json.set("intermediate_size", Json(c.intermediate_size));
  json.set("hidden_act", Json("silu"));
  json.set("rms_norm_eps", Json(c.norm_eps));
  json.set("rope_theta", Json(c.rope_base));
  put_rope_scaling(json, c.rope_scaling);
  return json;
}

Json write_gpt_neox(const GptConfig& c) {
  Json json = Json::object();
  put_common(json, c, "GPTNeoXForCausalLM", "gpt_neox");
  json.set("max_position_embeddings", Json(c.block_size));
  json.set("hidden_size", Json(c.n_embd));
  json.set("num_hidden_layers", Json(c.n_layer));
  json.set("num_attention_heads", Json(c.n_head));
  json.set("intermediate_size", Json(c.intermediate_size));
  json.set("hidden_act", Json(c.gelu_tanh ? "gelu_new" : "gelu"));
  json.set("layer_norm_eps", Json(c.norm_eps));
  json.set("use_parallel_residual", Json(c.parallel_residual));
  json.set("attention_bias", Json(true));
  json.set("attention_dropout", Json(0.0));
  json.set("hidden_dropout", Json(0.0));
  json.set("rotary_pct", Json(c.rotary_percentage));
  json.set("rotary_emb_base", Json(c.rope_base));
  put_rope_scaling(json, c.rope_scaling);
  return json;
}

// ---- our own form: every field by its name -------------------------------------------------------------------------------

/// Calls `v` with every field's name and place. Enumerations by `v.choice`.
template <class V>
void visit_own(GptConfig& c, V& v) {
  v("name", c.name), v("block_size", c.block_size), v("vocab_size", c.vocab_size), v("padded_vocab_size", c.padded_vocab_size);
  v("n_layer", c.n_layer), v("n_head", c.n_head), v("n_query_groups", c.n_query_groups), v("n_embd", c.n_embd);
  v("head_size", c.head_size), v("intermediate_size", c.intermediate_size);
  v.choice("weight_names", c.weight_names, {"litgpt", "gpt2"});
  v.choice("positions", c.positions, {"rotary", "learned"});
  v.choice("norm_class", c.norm_class, {"layer_norm", "rms_norm"});
  v("norm_eps", c.norm_eps), v("norm_affine", c.norm_affine), v("norm_unit_offset", c.norm_unit_offset);
  v("parallel_residual", c.parallel_residual), v("shared_attention_norm", c.shared_attention_norm);
  v("bias", c.bias), v("attn_bias", c.attn_bias), v("lm_head_bias", c.lm_head_bias), v("tied", c.tied);
  v("scale_embeddings", c.scale_embeddings);
  v.choice("mlp_class", c.mlp_class, {"gpt_neox", "llama", "gemma"});
  v("gelu_tanh", c.gelu_tanh), v("attention_scores_scalar", c.attention_scores_scalar);
  v("scale_attn_by_inverse_layer_idx", c.scale_attn_by_inverse_layer_idx);
  v("rotary_percentage", c.rotary_percentage), v("rope_base", c.rope_base), v("rope_condense_ratio", c.rope_condense_ratio);
  v.choice("rope_scaling", c.rope_scaling.kind, {"none", "linear", "llama3"});
  v("rope_factor", c.rope_scaling.factor), v("rope_low_freq_factor", c.rope_scaling.low_freq_factor);
  v("rope_high_freq_factor", c.rope_scaling.high_freq_factor), v("rope_original_max_seq_len", c.rope_scaling.original_max_seq_len);
  v("initializer_range", c.initializer_range);
}

struct OwnReader {
  ConfigFields& f;
  void operator()(const char* key, std::int64_t& value) { value = f.integer(key); }
  void operator()(const char* key, double& value) { value = f.number(key); }
  void operator()(const char* key, bool& value) { value = f.boolean(key); }
  void operator()(const char* key, std::string& value) { value = f.string(key); }
  void operator()(const char* key, std::optional<double>& value) {
    if (f.has(key)) value = f.number(key);
  }
  template <class E>
  void choice(const char* key, E& value, std::initializer_list<std::string_view> names) {
    value = static_cast<E>(f.choice(key, names));
  }
};

struct OwnWriter {
  Json& json;
  template <class T>
  void operator()(const char* key, const T& value) {
    json.set(key, Json(value));
  }
  void operator()(const char* key, const std::optional<double>& value) { json.set(key, value ? Json(*value) : Json()); }
  template <class E>
  void choice(const char* key, E value, std::initializer_list<std::string_view> names) {
    json.set(key, Json(std::string(names.begin()[static_cast<std::size_t>(value)])));
  }
};

GptConfig read_own(ConfigFields& f) {
  f.ignore({"model_type", "architectures"});
  const std::int64_t version = f.integer("format_version");
  if (version > kOwnVersion) f.view().fail(fmt::format("format version {} is newer than this reprise reads: {}", version, kOwnVersion));
  GptConfig c;
  OwnReader reader{f};
  visit_own(c, reader);
  return c;
}

Json write_own(GptConfig c) {
  Json json = Json::object();
  json.set("model_type", Json(kOwnType));
  json.set("format_version", Json(kOwnVersion));
  OwnWriter writer{json};
  visit_own(c, writer);
  return json;
}

}  // namespace

FolderConfig config_from_json(const Json& root, const std::string& file) {
  const JsonView view(root, file);
  FolderConfig folder;
  if (view.find("litgpt")) {
    folder.config = read_litgpt(view);
  } else {
    ConfigFields f(view);
    const std::string type = f.string("model_type");
    if (type == "gpt2") {
      folder.config = read_gpt2(f);
    } else if (type == "llama" || type == "mistral" || type == "qwen2") {
      folder = {read_llama(f, type), FolderNames::llama};
    } else if (type == "gpt_neox") {
      folder = {read_gpt_neox(f), FolderNames::gpt_neox};
    } else if (type == kOwnType) {
      folder.config = read_own(f);
    } else {
      view.at("model_type").fail(fmt::format("\"{}\" is not supported yet; one of: gpt2, gpt_neox, llama, mistral, qwen2", type));
    }
    f.finish();
  }
  try {
    validate(folder.config);
  } catch (const UserError& error) {
    view.fail(error.what());
  }
  return folder;
}

FolderConfig read_config(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / "config.json" : path;
  return config_from_json(read_json(file), file.string());
}

ConfigFile config_to_json(const GptConfig& config) {
  GptConfig structure = config;  // what a file keeps: not the run's dropout, nor that the vocabulary may change
  structure.set_dropout(0);
  structure.vocab_follows_tokenizer = false;
  const auto expresses = [&](const Json& json) {
    try {
      return config_from_json(json, "config.json").config == structure;
    } catch (const UserError&) {
      return false;  // a structure that this family's file does not allow
    }
  };
  const std::pair<std::function<Json(const GptConfig&)>, FolderNames> families[] = {
      {write_gpt2, FolderNames::own}, {write_llama, FolderNames::llama}, {write_gpt_neox, FolderNames::gpt_neox}};
  for (const auto& [write, names] : families) {
    Json json = write(structure);
    if (expresses(json)) return {std::move(json), names};
  }
  return {write_own(structure), FolderNames::own};
}

}  // namespace reprise
