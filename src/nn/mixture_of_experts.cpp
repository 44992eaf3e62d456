// SPDX-License-Identifier: Apache-2.0
#include "nn/mixture_of_experts.h"

#include <string>

#include "ops/builders.h"

namespace reprise {
namespace {

struct Best {
  Tensor values;   // [N, k]
  Tensor indices;  // int64
};

Best best(const Tensor& x, std::int64_t k) {
  const ops::ValuesAndIndices found = ops::topk(x.tracer().at(Tensor::Where::current()), x.id(), k);
  return {{x.tracer(), found.values}, {x.tracer(), found.indices}};
}

/// `values` [N, k] at `indices` of zeros [N, width].
Tensor spread(const Tensor& values, const Tensor& indices, std::int64_t width) {
  Builder& b = values.tracer().at(Tensor::Where::current());
  const ValueId zeros = ops::full(b, {values.size(0), width}, values.dtype(), 0);
  return {values.tracer(), ops::scatter_add(b, zeros, 1, indices.id(), values.id())};
}

/// Whether each of `width` is missing in `indices` [N, k]: bool [N, width].
Tensor is_missing(const Tensor& indices, std::int64_t width) {
  Builder& b = indices.tracer().at(Tensor::Where::current());
  const ValueId all = ops::full(b, {indices.size(0), width}, DType::boolean, 1);
  return {indices.tracer(), ops::scatter(b, all, 1, indices.id(), ops::full(b, indices.shape(), DType::boolean, 0))};
}

Tensor scaled(const Tensor& x, double factor) { return factor == 1 ? x : x * factor; }

}  // namespace

Router::Router(const GptConfig& config_in) : config(config_in), gate(config.n_embd, config.n_expert, false, fresh_weight(config)) {
  add_parameter("weight", gate.weight);
  if (config.n_expert_groups > 0) correction_bias = add_buffer("e_score_correction_bias", {config.n_expert}, Initializer::zeros());
}

Tensor Router::operator()(const Tensor& x) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  const Tensor logits = gate(x).cast(x.dtype() == DType::float64 ? DType::float64 : DType::float32);
  return (config.n_expert_groups > 0 ? grouped(logits) : plain(logits)).cast(x.dtype());
}

Tensor Router::plain(const Tensor& logits) const {
  const Best chosen = best(logits, config.n_expert_per_token);
  const Tensor weights = scaled(chosen.values.softmax(-1), config.routed_scaling_factor);
  return spread(weights, chosen.indices, config.n_expert);
}

Tensor Router::grouped(const Tensor& logits) const {
  const std::int64_t tokens = logits.size(0);
  const std::int64_t in_group = config.n_expert / config.n_expert_groups;
  const Shape by_group{tokens, config.n_expert_groups, in_group};
  const Tensor scores = logits.sigmoid();
  const Tensor biased = scores + scores.tracer().parameter(correction_bias).cast(scores.dtype());
  const Tensor group_scores = best(biased.reshape(by_group), config.n_topk_scores_per_group).values.sum(Ints{-1});
  const Tensor closed = is_missing(best(group_scores, config.n_topk_groups).indices, config.n_expert_groups);
  const Tensor closed_experts = closed.unsqueeze({2}).expand(by_group).reshape(biased.shape());
  // Experts of the other groups take part in the choice with 0, as published: one of a chosen group that is below 0 can lose to them.
  const Tensor candidates{biased.tracer(),
                          ops::masked_fill(biased.tracer().at(Tensor::Where::current()), closed_experts.id(), biased.id(), 0)};
  const Tensor indices = best(candidates, config.n_expert_per_token).indices;
  Tensor weights = scores.gather(1, indices);
  if (config.norm_topk_prob) weights = weights / (weights.sum(Ints{-1}, true) + 1e-20);
  return spread(scaled(weights, config.routed_scaling_factor), indices, config.n_expert);
}

MixtureOfExperts::MixtureOfExperts(const GptConfig& config) {
  gate = add_module("gate", Router(config));
  struct ExpertList : Module {
    Mlp add(std::int64_t i, Mlp expert) { return add_module(std::to_string(i), std::move(expert)); }
  };
  ExpertList list;
  for (std::int64_t i = 0; i < config.n_expert; ++i) experts.push_back(list.add(i, Mlp(config, config.expert_width())));
  add_module("experts", list);
  has_shared_experts = config.n_shared_expert > 0;
  if (has_shared_experts) shared_experts = add_module("shared_experts", Mlp(config, config.n_shared_expert * config.expert_width()));
}

Tensor MixtureOfExperts::operator()(const Tensor& x) const {
  Tracer& tracer = x.tracer();
  const Tracer::Scope scope = tracer.module(module_name());
  const Tensor tokens = x.reshape({x.size(0) * x.size(1), x.size(2)});
  const Tensor weights = gate(tokens);  // [N, n_expert]
  Tensor sum;
  {
    const Tracer::Scope list = tracer.module("experts");
    for (std::size_t i = 0; i < experts.size(); ++i) {
      const auto expert = static_cast<std::int64_t>(i);
      const Tensor part = experts[i](tokens) * weights.slice(1, expert, expert + 1);
      sum = sum.valid() ? sum + part : part;
    }
  }
  if (has_shared_experts) sum = sum + shared_experts(tokens);
  return sum.reshape(x.shape());
}

}  // namespace reprise
