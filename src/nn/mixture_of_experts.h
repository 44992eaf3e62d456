// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in place of an MLP: a router gives every token weights over experts, most of them 0. Dispatch is dense: every expert
// computes every token and its result is multiplied by the token's weight, so that an expert without tokens has a gradient of zeros.
#pragma once

#include <vector>

#include "nn/mlp.h"

namespace reprise {

/// Chooses n_expert_per_token experts for each token. Everything behind the logits is computed in float32 (float64 in float64
/// traces), as is the choice.
struct Router : Module {
  Router() = default;
  explicit Router(const GptConfig& config_in);
  /// x: [N, C] -> weights [N, n_expert] in x's dtype: those of the chosen experts, 0 elsewhere.
  Tensor operator()(const Tensor& x) const;

  GptConfig config;
  Linear gate;
  Parameter correction_bias;  // grouped: added to the scores for the choice alone; not trained

 private:
  /// softmax over the chosen logits (Mixtral, 2024). logits: [N, n_expert]
  Tensor plain(const Tensor& logits) const;
  /// Sigmoid scores; experts of the best groups alone can be chosen (DeepSeek-V3, 2024).
  Tensor grouped(const Tensor& logits) const;
};

struct MixtureOfExperts : Module {
  MixtureOfExperts() = default;
  explicit MixtureOfExperts(const GptConfig& config);
  /// x: [B, T, C]
  Tensor operator()(const Tensor& x) const;

  Router gate;
  std::vector<Mlp> experts;
  Mlp shared_experts;  // one MLP of their joint width
  bool has_shared_experts = false;
};

}  // namespace reprise
