// SPDX-License-Identifier: Apache-2.0
// Our own config.json: every field comes back, older files are read, newer ones refused.
#include <gtest/gtest.h>

#include "nn/own_config.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

GptConfig read(const Json& json) {
  ConfigFields fields(JsonView(json, "config.json"));
  GptConfig config = read_own_config(fields);
  fields.finish();
  return config;
}

/// Nothing at its default.
GptConfig unusual() {
  GptConfig c;
  c.name = "unusual";
  c.block_size = 99;
  c.vocab_size = 98;
  c.padded_vocab_size = 128;
  c.n_layer = 3;
  c.n_head = 6;
  c.n_query_groups = 2;
  c.n_embd = 30;
  c.head_size = 10;
  c.intermediate_size = 44;
  c.weight_names = WeightNames::gpt2;
  c.positions = Positions::learned;
  c.norm_class = NormClass::rms_norm;
  c.norm_eps = 1e-3;
  c.norm_affine = false;
  c.norm_unit_offset = true;
  c.norm_1 = c.norm_2 = false;
  c.post_attention_norm = c.post_mlp_norm = true;
  c.norm_qk = true;
  c.norm_qk_type = NormQkType::all_heads;
  c.parallel_residual = c.shared_attention_norm = true;
  c.bias = false;
  c.attn_bias = c.lm_head_bias = c.tied = c.scale_embeddings = true;
  c.mlp_class = MlpClass::llama_moe;
  c.gelu_tanh = true;
  c.attention_scores_scalar = 12;
  c.scale_attn_by_inverse_layer_idx = true;
  c.attention_logit_softcapping = 50;
  c.final_logit_softcapping = 30;
  c.sliding_window_size = 7;
  c.sliding_window_indices = LayerPattern({true, false});
  c.latent_attention = LatentAttention{1, 2, 3, 4, 5, 1e-2};
  c.n_expert = 8;
  c.n_expert_per_token = 2;
  c.moe_intermediate_size = 11;
  c.n_shared_expert = 1;
  c.first_k_dense_replace = 1;
  c.routed_scaling_factor = 2.5;
  c.n_expert_groups = 4;
  c.n_topk_groups = 2;
  c.n_topk_scores_per_group = 2;
  c.norm_topk_prob = true;
  c.rotary_percentage = 0.5;
  c.rope_base = 500;
  c.rope_condense_ratio = 2;
  c.rope_scaling = {RopeScaling::Kind::longrope, 2, 3, 5, 16, 20, 2, false, 0.5, 0.6, 1.5, {1, 1.5}, {2, 3}};
  c.rope_interleave = true;
  c.rope_layers = LayerPattern({true, true, false});
  c.rope_local_base_freq = 100;
  c.rope_indices = LayerPattern({false, true});
  c.initializer_range = 0.5;
  return c;
}

TEST(OwnConfig, EveryFieldComesBack) {
  EXPECT_EQ(read(write_own_config(unusual())), unusual());
  EXPECT_EQ(read(write_own_config(GptConfig())), GptConfig());
}

TEST(OwnConfig, AFileOfTheFirstVersionLacksWhatCameLater) {
  const Json old =
      parse_json(R"({"model_type": "reprise", "format_version": 1, "name": "old", "n_layer": 5, "norm_class": "rms_norm"})", "config.json");
  const GptConfig config = read(old);
  EXPECT_EQ(config.n_layer, 5);
  EXPECT_EQ(config.norm_class, NormClass::rms_norm);
  EXPECT_EQ(config.n_expert, 0);
}

TEST(OwnConfig, Refuses) {
  EXPECT_USER_ERROR(read(parse_json(R"({"model_type": "reprise", "format_version": 3})", "config.json")),
                    "format version 3 is newer than this reprise reads: 2");
  EXPECT_USER_ERROR(read(parse_json(R"({"model_type": "reprise", "format_version": 2})", "config.json")), "key \"name\" is missing");
  Json empty_pattern = write_own_config(GptConfig());
  empty_pattern.set("rope_layers", Json::array());
  EXPECT_USER_ERROR(read(empty_pattern), "config.json: rope_layers: must not be empty");
}

}  // namespace
}  // namespace reprise
