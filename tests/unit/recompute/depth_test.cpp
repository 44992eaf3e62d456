// SPDX-License-Identifier: Apache-2.0
// Every layer of a model adds the same: nodes, values kept, copies. What grows faster would show in the depth of the model alone.
#include <gtest/gtest.h>

#include <array>

#include "base/target.h"
#include "compiler/compile.h"
#include "executor/executor_list.h"
#include "nn/gpt_trace.h"

namespace reprise {
namespace {

struct Sizes {
  std::size_t nodes = 0, saved = 0, kept = 0, copies = 0, storages = 0;
  friend bool operator==(const Sizes&, const Sizes&) = default;
};

Sizes operator-(const Sizes& a, const Sizes& b) {
  return {a.nodes - b.nodes, a.saved - b.saved, a.kept - b.kept, a.copies - b.copies, a.storages - b.storages};
}

Sizes sizes_of(GptConfig config, std::int64_t layers, const char* policy) {
  config.n_layer = layers;
  CompileOptions options;
  options.target = Target{};
  options.executors = make_executor_list();
  options.recompute.policy = parse_policy(policy);
  TrainingRequest request;
  request.forward = trace_forward_loss(config, {.batch = 1, .length = 16}).trace;
  request.adamw.max_norm = 1;
  const CompiledTraining training = compile_training(request, options);
  const RecomputePlan& plan = training.recompute[0];
  return {training.step.claimed.trace.nodes.size(), training.saved.values.size(), plan.saved.size(), plan.copies.size(),
          training.step.plan.storages.size()};
}

TEST(Depth, EveryLayerAddsTheSame) {
  for (const char* model : {"toy-gpt", "toy-llama"}) {
    for (const char* policy : {"none", "auto", "ops", "alternate", "layers:2", "full"}) {
      const GptConfig config = named_config(model);
      const std::array<Sizes, 3> sizes = {sizes_of(config, 4, policy), sizes_of(config, 8, policy), sizes_of(config, 12, policy)};
      EXPECT_TRUE(sizes[2] - sizes[1] == sizes[1] - sizes[0]) << model << " " << policy;
      EXPECT_GT(sizes[1].nodes, sizes[0].nodes);
    }
  }
}

}  // namespace
}  // namespace reprise
