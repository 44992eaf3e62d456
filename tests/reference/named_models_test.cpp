// SPDX-License-Identifier: Apache-2.0
// Every named model, shrunk to a few thousand parameters of the same structure: its forward and backward pass is a valid trace.
#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/differentiate.h"
#include "nn/gpt.h"
#include "nn/gpt_trace.h"
#include "ops/verifier.h"

namespace reprise::test {
namespace {

/// Fewer and smaller parts; what sets the structure stays, layers enough for its pattern among it.
GptConfig shrunk(std::string_view name) {
  GptConfig c = named_config(name);
  const std::int64_t pattern =
      static_cast<std::int64_t>(std::max(c.sliding_window_indices.period().size(), c.rope_indices.period().size()));
  const std::int64_t heads_in_group = std::min<std::int64_t>(c.n_head / c.n_query_groups, 3);
  c.n_layer = std::min(c.n_layer, std::max<std::int64_t>(2, pattern));
  c.n_query_groups = std::min<std::int64_t>(c.n_query_groups, 2);
  c.n_head = heads_in_group * c.n_query_groups;
  c.head_size = 8;
  c.n_embd = 24;
  c.intermediate_size = 40;
  c.vocab_size = 33;
  c.padded_vocab_size = 40;
  c.block_size = 16;
  if (c.sliding_window_size) c.sliding_window_size = std::min<std::int64_t>(*c.sliding_window_size, 4);
  if (c.n_expert > 0) {
    c.n_expert = std::min<std::int64_t>(c.n_expert, 10);
    c.moe_intermediate_size = std::min<std::int64_t>(c.moe_intermediate_size, 12);
  }
  return c;
}

TEST(NamedModels, ForwardAndBackwardPassesAreValid) {
  const std::vector<std::string_view> names = config_names();
  EXPECT_EQ(names.size(), 221u);  // 210 published, GPT-2 in four sizes, GPT-3, six to train here
  for (const std::string_view name : names) {
    const GptConfig config = shrunk(name);
    const TracedProgram program = trace_forward_loss(config, {.batch = 2, .length = 8});
    const JointTrace joint = differentiate(program.trace, trainable_parameters(program.trace));
    EXPECT_EQ(verify(joint.trace), std::vector<std::string>{}) << name;
    EXPECT_EQ(joint.gradients.size(), Gpt(config).parameters().size()) << name;
  }
}

}  // namespace
}  // namespace reprise::test
