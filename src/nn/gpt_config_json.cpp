// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt_config_json.h"

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "nn/config_fields.h"
#include "nn/litgpt_config.h"
#include "nn/own_config.h"

namespace reprise {
namespace {

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

}  // namespace

FolderConfig config_from_json(const Json& root, const std::string& file) {
  const JsonView view(root, file);
  FolderConfig folder;
  if (view.find("litgpt")) {
    folder.config = read_litgpt_config(view);
  } else {
    ConfigFields f(view);
    const std::string type = f.string("model_type");
    if (type == "gpt2") {
      folder.config = read_gpt2(f);
    } else if (type == "llama" || type == "mistral" || type == "qwen2") {
      folder = {read_llama(f, type), FolderNames::llama};
    } else if (type == "gpt_neox") {
      folder = {read_gpt_neox(f), FolderNames::gpt_neox};
    } else if (type == kOwnConfigType) {
      folder.config = read_own_config(f);
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
  return {write_own_config(structure), FolderNames::own};
}

}  // namespace reprise
