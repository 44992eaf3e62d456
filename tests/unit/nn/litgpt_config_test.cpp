// SPDX-License-Identifier: Apache-2.0
// LitGPT's fields: what each becomes, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "io/json.h"
#include "nn/litgpt_config.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

/// A configuration of two layers with `members` added.
GptConfig config_with(const std::string& members, const std::string& beside = "") {
  const std::string text = R"({"litgpt": {"block_size": 8, "vocab_size": 9, "n_layer": 2, "n_head": 2, "n_embd": 16)" +
                           (members.empty() ? "" : ", " + members) + "}" + (beside.empty() ? "" : ", " + beside) + "}";
  const Json json = parse_json(text, "config.json");
  return read_litgpt_config(JsonView(json, "config.json"));
}

TEST(LitGptConfig, DefaultsAreLitGpts) {
  const GptConfig c = config_with("");
  EXPECT_EQ(c.head_size, 8);
  EXPECT_EQ(c.n_query_groups, 2);
  EXPECT_EQ(c.intermediate_size, 64);
  EXPECT_EQ(c.rotary_percentage, 0.25);
  EXPECT_TRUE(c.parallel_residual && c.bias && c.norm_1 && c.norm_2);
  EXPECT_FALSE(c.sliding_window_size || c.latent_attention || c.rope_local_base_freq);
}

TEST(LitGptConfig, Attention) {
  const GptConfig c = config_with(R"("norm_qk": true, "norm_qk_type": "olmo2", "sliding_window_size": 3, "sliding_window_indices": [1, 0],
      "attention_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "attention_scores_scalar": 144)");
  EXPECT_TRUE(c.norm_qk);
  EXPECT_EQ(c.norm_qk_type, NormQkType::all_heads);
  EXPECT_EQ(c.window(0), 3);
  EXPECT_EQ(c.window(1), 0);
  EXPECT_EQ(c.attention_logit_softcapping, 50);
  EXPECT_EQ(c.final_logit_softcapping, 30);
  EXPECT_DOUBLE_EQ(c.attention_scale(0), 1.0 / 12);
  EXPECT_EQ(config_with(R"("sliding_window_size": 3)").window(1), 3);
}

TEST(LitGptConfig, LatentAttentionHasTheModelsNormEps) {
  const GptConfig c = config_with(R"("norm_eps": 1e-4, "latent_attention": {"q_lora_rank": 12, "kv_lora_rank": 10,
      "qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "v_head_dim": 5})");
  EXPECT_EQ(c.latent_attention, (LatentAttention{12, 10, 4, 6, 5, 1e-4}));
  EXPECT_EQ(c.rope_n_elem(), 4);
  EXPECT_EQ(c.key_width(), 10);
  EXPECT_EQ(c.value_width(), 5);
}

TEST(LitGptConfig, RopeAdjustments) {
  const auto scaling = [](const char* text) { return config_with(std::string(R"("rope_adjustments": )") + text).rope_scaling; };
  EXPECT_EQ(scaling(R"({"factor": 8.0})").kind, RopeScaling::Kind::linear);
  EXPECT_EQ(scaling(R"({"factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_seq_len": 64})").kind,
            RopeScaling::Kind::llama3);
  const RopeScaling yarn = scaling(R"({"factor": 4, "beta_fast": 16, "beta_slow": 2, "original_max_seq_len": 32, "mscale": 0.7})");
  EXPECT_EQ(yarn.kind, RopeScaling::Kind::yarn_litgpt);
  EXPECT_EQ(yarn.beta_fast, 16);
  EXPECT_EQ(yarn.mscale, 0.7);
  EXPECT_EQ(yarn.mscale_all_dim, std::nullopt);
  const GptConfig local = config_with(R"("rope_local_base_freq": 10000, "rope_indices": [1, 0])");
  EXPECT_EQ(local.rope_local_base_freq, 10000);
  EXPECT_TRUE(local.rope_indices[0] && !local.rope_indices[1]);
}

TEST(LitGptConfig, Experts) {
  const GptConfig c = config_with(R"("mlp_class_name": "LLaMAMoE", "n_expert": 8, "n_expert_per_token": 2, "moe_intermediate_size": 12,
      "n_shared_expert": 1, "first_k_dense_replace": 1, "routed_scaling_factor": 2.5, "n_expert_groups": 4, "n_topk_groups": 2,
      "n_topk_scores_per_group": 2, "norm_topk_prob": true)");
  EXPECT_FALSE(c.has_experts(0));
  EXPECT_TRUE(c.has_experts(1));
  EXPECT_EQ(c.expert_width(), 12);
  EXPECT_EQ(c.n_expert_groups, 4);
  EXPECT_EQ(c.routed_scaling_factor, 2.5);
}

TEST(LitGptConfig, WhatTheNameDecidesIsTakenFromDerivedWhereItIsThere) {
  EXPECT_TRUE(config_with(R"("name": "Gemma-x", "norm_class_name": "RMSNorm")").norm_unit_offset);
  EXPECT_FALSE(config_with(R"("name": "OLMo-x")").norm_affine);
  EXPECT_TRUE(config_with(R"("name": "OLMo-x")", R"("derived": {"layernorm_affine": true})").norm_affine);
  EXPECT_TRUE(config_with("", R"("derived": {"tied_embeddings": true})").tied);
}

TEST(LitGptConfig, Refuses) {
  EXPECT_USER_ERROR(config_with(R"("norm_qk_typ": "default")"), "key \"norm_qk_typ\" is not known and may change the model");
  EXPECT_USER_ERROR(config_with(R"("rope_adjustments": {"factor": 4, "beta_slow": 1})"), "key \"beta_slow\" is not known");
  EXPECT_USER_ERROR(config_with(R"("latent_attention": {})"), "litgpt.latent_attention: key \"q_lora_rank\" is missing");
  EXPECT_USER_ERROR(config_with(R"("mlp_class_name": "BitMLP")"), "\"BitMLP\" is not supported; one of: GptNeoxMLP");
  EXPECT_USER_ERROR(config_with(R"("sliding_window_size": 3, "sliding_window_indices": [1])"),
                    "litgpt.sliding_window_indices: needs one entry for each of 2 layers, not 1");
  EXPECT_USER_ERROR(config_with(R"("rope_local_base_freq": 10, "rope_indices": [1, 2])"), "litgpt.rope_indices[1]: must be 0 or 1, not 2");
}

TEST(LayerPattern, KeepsTheShortestPeriod) {
  EXPECT_EQ(LayerPattern({true, false, true, false, true}).period(), (std::vector<bool>{true, false}));
  EXPECT_EQ(LayerPattern({true, true}), LayerPattern(true));
  const LayerPattern pattern({false, false, true});
  EXPECT_TRUE(pattern[2] && pattern[5] && !pattern[3]);
  EXPECT_USER_ERROR(LayerPattern(std::vector<bool>{}), "a list of layers must not be empty");
}

}  // namespace
}  // namespace reprise
