// SPDX-License-Identifier: Apache-2.0
#include "nn/model_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace reprise {
namespace {

// Names of Llama's tensors, which most families share.
constexpr ModuleName kLlama[] = {
    {"transformer.wte", "model.embed_tokens"}, {"transformer.ln_f", "model.norm"}, {"lm_head", "lm_head"},
    {"norm_1", "input_layernorm"}, {"norm_2", "post_attention_layernorm"},
    {"attn.qkv", "self_attn.q_proj self_attn.k_proj self_attn.v_proj"}, {"attn.proj", "self_attn.o_proj"},
    {"attn.norm_q", "self_attn.q_norm"}, {"attn.norm_k", "self_attn.k_norm"},
    {"mlp.fc_1", "mlp.gate_proj"}, {"mlp.fc_2", "mlp.up_proj"}, {"mlp.proj", "mlp.down_proj"},
    {"mlp.gate", "mlp.gate"}, {"mlp.experts.*.fc_1", "mlp.experts.*.gate_proj"}, {"mlp.experts.*.fc_2", "mlp.experts.*.up_proj"},
    {"mlp.experts.*.proj", "mlp.experts.*.down_proj"}};
constexpr ModuleName kMixtral[] = {
    {"mlp.gate", "block_sparse_moe.gate"}, {"mlp.experts.*.fc_1", "block_sparse_moe.experts.*.w1"},
    {"mlp.experts.*.fc_2", "block_sparse_moe.experts.*.w3"}, {"mlp.experts.*.proj", "block_sparse_moe.experts.*.w2"}};
constexpr ModuleName kPostNorms[] = {{"post_attention_norm", "post_attention_layernorm"},
                                     {"norm_2", "pre_feedforward_layernorm"},
                                     {"post_mlp_norm", "post_feedforward_layernorm"}};
constexpr ModuleName kDeepseek[] = {
    {"attn.q_proj", "self_attn.q_proj"}, {"attn.q_a_proj", "self_attn.q_a_proj"}, {"attn.q_a_norm", "self_attn.q_a_layernorm"},
    {"attn.q_b_proj", "self_attn.q_b_proj"}, {"attn.kv_a_proj_with_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn.kv_a_norm", "self_attn.kv_a_layernorm"}, {"attn.kv_b_proj", "self_attn.kv_b_proj"},
    {"mlp.shared_experts.fc_1", "mlp.shared_experts.gate_proj"}, {"mlp.shared_experts.fc_2", "mlp.shared_experts.up_proj"},
    {"mlp.shared_experts.proj", "mlp.shared_experts.down_proj"}};
constexpr ModuleName kPhi[] = {
    {"transformer.ln_f", "model.final_layernorm"}, {"attn.proj", "self_attn.dense"}, {"mlp.fc", "mlp.fc1"}, {"mlp.proj", "mlp.fc2"}};
constexpr ModuleName kPhi3[] = {{"attn.qkv", "self_attn.qkv_proj"}, {"mlp.fc_1", "mlp.gate_up_proj"}, {"mlp.fc_2", "mlp.gate_up_proj"}};
constexpr ModuleName kStarcoder2[] = {{"mlp.fc", "mlp.c_fc"}, {"mlp.proj", "mlp.c_proj"}};
constexpr ModuleName kNeox[] = {
    {"transformer.wte", "gpt_neox.embed_in"}, {"transformer.ln_f", "gpt_neox.final_layer_norm"}, {"lm_head", "embed_out"},
    {"norm_1", "input_layernorm"}, {"norm_2", "post_attention_layernorm"}, {"attn.qkv", "attention.query_key_value"},
    {"attn.proj", "attention.dense"}, {"mlp.fc", "mlp.dense_h_to_4h"}, {"mlp.proj", "mlp.dense_4h_to_h"}};
constexpr ModuleName kFalcon[] = {
    {"transformer.wte", "transformer.word_embeddings"}, {"transformer.ln_f", "transformer.ln_f"}, {"lm_head", "lm_head"},
    {"norm_1", "input_layernorm"}, {"norm_2", "post_attention_layernorm"}, {"attn.qkv", "self_attention.query_key_value"},
    {"attn.proj", "self_attention.dense"}, {"mlp.fc", "mlp.dense_h_to_4h"}, {"mlp.proj", "mlp.dense_4h_to_h"}};

constexpr std::string_view kModelLayers = "model.layers.";
constexpr std::string_view kFrequencies = ".rotary_emb.inv_freq";

/// A family whose tensors are called as Llama's but for `names`.
FamilyRow like_llama(ModelFamily family, std::string_view type, std::string_view architecture, std::string_view hints,
                     std::vector<std::span<const ModuleName>> names = {}) {
  names.emplace_back(kLlama);
  return {family, type, architecture, hints, kModelLayers, std::move(names), false, {kFrequencies}};
}

std::vector<FamilyRow> make_table() {
  using enum ModelFamily;
  std::vector<FamilyRow> table;
  table.push_back({gpt2, "gpt2", "GPT2LMHeadModel", "gpt", "transformer.h.", {}, false, {".attn.bias", ".attn.masked_bias"}});
  table.push_back(like_llama(llama, "llama", "LlamaForCausalLM", "llama"));
  table.push_back({gpt_neox, "gpt_neox", "GPTNeoXForCausalLM", "pythia neox", "gpt_neox.layers.", {kNeox}, true,
                   {".attention.bias", ".attention.masked_bias", kFrequencies}});
  table.push_back(like_llama(mistral, "mistral", "MistralForCausalLM", "mistral"));
  table.push_back(like_llama(mixtral, "mixtral", "MixtralForCausalLM", "mixtral", {kMixtral}));
  table.push_back(like_llama(qwen2, "qwen2", "Qwen2ForCausalLM", "qwen2 qwq"));
  table.push_back(like_llama(qwen3, "qwen3", "Qwen3ForCausalLM", "qwen3"));
  table.push_back(like_llama(qwen3_moe, "qwen3_moe", "Qwen3MoeForCausalLM", "qwen3"));
  table.push_back(like_llama(gemma, "gemma", "GemmaForCausalLM", "gemma"));
  table.push_back(like_llama(gemma2, "gemma2", "Gemma2ForCausalLM", "gemma-2", {kPostNorms}));
  table.push_back(like_llama(gemma3, "gemma3_text", "Gemma3ForCausalLM", "gemma-3", {kPostNorms}));
  table.push_back(like_llama(olmo, "olmo", "OlmoForCausalLM", "olmo"));
  table.push_back(like_llama(olmo2, "olmo2", "Olmo2ForCausalLM", "olmo-2", {kPostNorms}));
  table.push_back(like_llama(phi, "phi", "PhiForCausalLM", "phi-1 phi-2", {kPhi}));
  table.push_back(like_llama(phi3, "phi3", "Phi3ForCausalLM", "phi-3 phi-4", {kPhi3}));
  table.push_back(like_llama(stablelm, "stablelm", "StableLmForCausalLM", "stablelm stable-code"));
  table.push_back(like_llama(starcoder2, "starcoder2", "Starcoder2ForCausalLM", "starcoder", {kStarcoder2}));
  table.push_back(like_llama(smollm3, "smollm3", "SmolLM3ForCausalLM", "smollm3"));
  table.push_back({falcon, "falcon", "FalconForCausalLM", "falcon", "transformer.h.", {kFalcon}, true, {kFrequencies}});
  table.push_back(like_llama(deepseek_v3, "deepseek_v3", "DeepseekV3ForCausalLM", "deepseek", {kDeepseek}));
  return table;
}

}  // namespace

const std::vector<FamilyRow>& family_table() {
  static const std::vector<FamilyRow> table = make_table();
  return table;
}

const FamilyRow& family_row(ModelFamily family) {
  const auto& table = family_table();
  const auto row = std::find_if(table.begin(), table.end(), [&](const FamilyRow& r) { return r.family == family; });
  REPRISE_CHECK(row != table.end(), "a family has no row in the table");
  return *row;
}

std::optional<ModelFamily> find_family(std::string_view model_type) {
  for (const FamilyRow& row : family_table()) {
    if (row.model_type == model_type) return row.family;
  }
  return std::nullopt;
}

std::string family_names() {
  std::vector<std::string_view> names;
  for (const FamilyRow& row : family_table()) names.push_back(row.model_type);
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace reprise
