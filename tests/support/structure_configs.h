// SPDX-License-Identifier: Apache-2.0
// A small model for every structure that a GPT can have, the plain ones apart: what tests of traces, generation and
// execution go through.
#pragma once

#include <string>
#include <vector>

#include "nn/gpt_config.h"

namespace reprise::test {

/// Models of two or three layers over 65 tokens and up to 64 positions, each named after what sets it apart.
inline std::vector<GptConfig> structure_configs() {
  std::vector<GptConfig> all;
  const auto add = [&](const char* name, auto&& change) {
    GptConfig config = named_config("toy-llama");
    config.name = name;
    config.vocab_follows_tokenizer = false;
    change(config);
    all.push_back(config);
  };
  add("window", [](GptConfig& c) { c.sliding_window_size = 4; });
  add("window_every_other_layer", [](GptConfig& c) {
    c.sliding_window_size = 3;
    c.sliding_window_indices = LayerPattern({true, false});
  });
  add("soft_caps", [](GptConfig& c) {
    c.attention_logit_softcapping = 1.5;
    c.final_logit_softcapping = 0.8;
  });
  add("norm_qk", [](GptConfig& c) { c.norm_qk = true; });
  add("norm_qk_all_heads", [](GptConfig& c) {
    c.norm_qk = true;
    c.norm_qk_type = NormQkType::all_heads;
    c.norm_1 = c.norm_2 = false;
    c.post_attention_norm = c.post_mlp_norm = true;
  });
  add("local_base", [](GptConfig& c) {
    c.norm_unit_offset = c.norm_qk = c.post_attention_norm = c.post_mlp_norm = true;
    c.rope_local_base_freq = 100;
    c.sliding_window_size = 4;
    c.rope_indices = c.sliding_window_indices = LayerPattern({true, false});
    c.rope_scaling = {RopeScaling::Kind::linear, 8};
  });
  add("parallel_residual_post_norms", [](GptConfig& c) {
    c.parallel_residual = c.post_attention_norm = c.post_mlp_norm = true;
    c.mlp_class = MlpClass::gemma;
  });
  add("layer_norm_interleaved", [](GptConfig& c) {
    c.norm_class = NormClass::layer_norm;
    c.norm_qk = c.bias = c.rope_interleave = true;
    c.rotary_percentage = 0.5;
  });
  add("layers_that_do_not_turn", [](GptConfig& c) { c.rope_layers = LayerPattern({true, false}); });
  add("yarn", [](GptConfig& c) { c.rope_scaling = {.kind = RopeScaling::Kind::yarn, .factor = 4, .original_max_seq_len = 16}; });
  add("longrope", [](GptConfig& c) {
    c.rope_scaling = {.kind = RopeScaling::Kind::longrope, .factor = 4, .original_max_seq_len = 16};
    c.rope_scaling.short_factor = {1, 1, 1.1, 1.1, 1.2, 1.2, 1.3, 1.3};
    c.rope_scaling.long_factor = {1, 1.5, 2, 2.5, 3, 4, 5, 6};
  });
  add("longrope_beyond_the_original_length", [](GptConfig& c) {
    c.rope_scaling = {.kind = RopeScaling::Kind::longrope, .factor = 8, .original_max_seq_len = 8};
    c.rope_scaling.short_factor = {1, 1, 1.1, 1.1, 1.2, 1.2, 1.3, 1.3};
    c.rope_scaling.long_factor = {1, 1.5, 2, 2.5, 3, 4, 5, 6};
  });
  add("latent_attention", [](GptConfig& c) {
    c.n_query_groups = c.n_head;
    c.latent_attention = LatentAttention{24, 16, 8, 12, 10, 1e-6};
    c.rope_interleave = true;
    c.rope_scaling = {.kind = RopeScaling::Kind::yarn, .factor = 4, .original_max_seq_len = 16, .mscale = 1.0, .mscale_all_dim = 1.0};
  });
  add("latent_attention_full_queries", [](GptConfig& c) {
    c.n_query_groups = c.n_head;
    c.latent_attention = LatentAttention{0, 16, 8, 12, 20, 1e-6};
    c.attn_bias = true;
  });
  add("experts", [](GptConfig& c) {
    c.mlp_class = MlpClass::llama_moe;
    c.n_expert = 6;
    c.n_expert_per_token = 2;
    c.moe_intermediate_size = 24;
  });
  add("expert_groups", [](GptConfig& c) {
    c.mlp_class = MlpClass::llama_moe;
    c.n_layer = 3;
    c.n_expert = 8;
    c.n_expert_per_token = 3;
    c.moe_intermediate_size = 24;
    c.n_shared_expert = 2;
    c.first_k_dense_replace = 1;
    c.routed_scaling_factor = 2.5;
    c.n_expert_groups = 4;
    c.n_topk_groups = 2;
    c.n_topk_scores_per_group = 2;
    c.norm_topk_prob = true;
  });
  return all;
}

}  // namespace reprise::test
