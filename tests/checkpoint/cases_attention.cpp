// SPDX-License-Identifier: Apache-2.0
// Cases with attention.
#include "checkpoint/case.h"

#include <cmath>

#include "nn/gpt.h"
#include "nn/rope.h"

namespace reprise::test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHead = kWidth / kHeads;

void attention(Tracer& tracer, const Form& form, double dropout) {
  const Linear qkv(kWidth, 3 * kWidth, false, kFresh);
  const Linear proj(kWidth, kWidth, false, kFresh);
  const Tensor x = rows_input(tracer);
  const auto heads = [](const Tensor& part) { return part.reshape({2, 8, kHeads, kHead}).transpose(1, 2); };
  const auto named = [&](const char* name, const Linear& linear, const Tensor& in) {
    const Tracer::Scope scope = tracer.module(name);
    return linear(in);
  };
  sum_of_squares(tracer, inside(tracer, "block", form, [&] {
    const std::vector<Tensor> parts = named("qkv", qkv, x).split(-1, {kWidth, kWidth, kWidth});
    AttentionOptions options;
    options.causal = true;
    options.scale = 1 / std::sqrt(static_cast<double>(kHead));
    options.dropout = dropout;
    const Tensor y = scaled_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), {}, options);
    return named("proj", proj, y.transpose(1, 2).reshape({2, 8, kWidth}));
  }));
}

/// A block as models have it: RMSNorm, rotary attention, SwiGLU.
void llama_block(Tracer& tracer, const Form& form) {
  GptConfig config = named_config("toy-llama");
  config.n_head = config.n_query_groups = kHeads;
  config.n_embd = kWidth;
  config.head_size = kHead;
  config.intermediate_size = kHidden;
  config.block_size = 8;
  const Block block(config, 0);
  const RopeTables tables = rope_tables(config, 8);
  SequenceContext context;
  context.training = true;
  const Shape shape{tables.length, tables.n_elem};
  const auto table = [&](const char* name, const std::vector<double>& values) {
    return tracer.constant(name, shape, values, DType::float32);
  };
  context.rope = {table("rope.cos", tables.cos), table("rope.sin", tables.sin)};
  const Tensor x = rows_input(tracer);
  sum_of_squares(tracer, inside(tracer, "block", form, [&] { return block(x, context); }));
  if (!form.tags_products) return;
  for (const Node& node : tracer.trace().nodes) {
    if (node.opcode == op::linear) tracer.tag({tracer, node.outputs[0]}, TagKind::prefer_save);
  }
}

}  // namespace

std::vector<CheckpointCase> attention_cases() {
  return {
      {"llama_block", llama_block},
      {"attention_dropout", [](Tracer& t, const Form& f) { attention(t, f, 0.2); }, "*", true},
      {"attention_no_dropout", [](Tracer& t, const Form& f) { attention(t, f, 0); }},
  };
}

}  // namespace reprise::test
