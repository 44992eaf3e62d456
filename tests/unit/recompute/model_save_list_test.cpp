// SPDX-License-Identifier: Apache-2.0
// The save lists that model families carry.
#include "nn/model_save_list.h"

#include <gtest/gtest.h>

#include "nn/gpt_trace.h"
#include "support/recompute_case.h"

namespace reprise::test {
namespace {

SaveList list_of(const GptConfig& config) { return save_list_of(model_save_list(config).ops, "a model's list"); }

TEST(ModelSaveList, EveryModelHasOneThatHoldsTheDefault) {
  const SaveList usual = default_save_list();
  for (const std::string_view name : config_names()) {
    const GptConfig config = named_config(name);
    const SaveList list = list_of(config);
    for (const Opcode opcode : usual.ops()) EXPECT_TRUE(list.contains(opcode)) << name;
    const bool experts = config.mlp_class == MlpClass::llama_moe;
    EXPECT_EQ(model_save_list(config).name, experts ? "experts" : "dense") << name;
    EXPECT_EQ(list == usual, !experts) << name;
  }
}

/// A small model with experts; `groups`: of the grouped router, or 0 for the plain one.
GptConfig with_experts(std::int64_t groups) {
  GptConfig config = named_config("toy-llama");
  config.block_size = 8;
  config.mlp_class = MlpClass::llama_moe;
  config.n_expert = 4;
  config.n_expert_per_token = 2;
  if (groups > 0) {
    config.n_expert_groups = groups;
    config.n_topk_groups = 1;
    config.n_topk_scores_per_group = 1;
    config.norm_topk_prob = true;
  }
  return config;
}

int runs_again(const Recomputed& result, std::string_view module) {
  int found = 0;
  for (const Node& node : result.applied.trace.nodes) found += node.phase == Phase::recompute && node.module.view().ends_with(module);
  return found;
}

TEST(ModelSaveList, OfExpertsKeepsWhatTheRouterMade) {
  for (const std::int64_t groups : {0, 2}) {
    const GptConfig config = with_experts(groups);
    const Trace forward = trace_forward_loss(config, {.batch = 1, .length = 8}).trace;
    const ClaimedTrace joint = claim_trace(clean_joint(forward), reference_only(), Target{}, 1);
    RecomputeOptions options;
    options.policy = parse_policy("ops");
    const Recomputed usual = recompute(joint, options, false);
    options.save_list = list_of(config);
    const Recomputed own = recompute(joint, options, false);
    EXPECT_GT(usual.count(op::scatter_add, Phase::recompute), 0) << groups;
    EXPECT_EQ(own.count(op::scatter_add, Phase::recompute), 0) << groups;
    EXPECT_EQ(own.count(op::softmax, Phase::recompute), 0) << groups;
    EXPECT_LT(runs_again(own, "mlp.gate"), runs_again(usual, "mlp.gate")) << groups;
    // Weights of two experts of four for each of eight tokens in two layers: no more is kept.
    EXPECT_LE(own.saved_bytes() - usual.saved_bytes(), 2 * 8 * (2 + 2 + 4) * 4) << groups;
  }
}

}  // namespace
}  // namespace reprise::test
