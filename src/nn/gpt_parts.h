// SPDX-License-Identifier: Apache-2.0
// What the parts of a GPT have in common: names and storage of their weights, fresh values, the norm of the configuration.
#pragma once

#include <cstdint>
#include <variant>

#include "nn/gpt_config.h"
#include "nn/layers.h"

namespace reprise {

/// What a layer is called in the weights.
struct LayerNames {
  const char *norm_1, *norm_2, *qkv, *proj, *fc;
};
LayerNames layer_names(const GptConfig& config);

LinearStorage linear_storage(const GptConfig& config);
Initializer fresh_weight(const GptConfig& config);
/// Of projections back onto the residual stream: the sum over 2 n_layer of them keeps the variance (GPT-2).
Initializer fresh_residual_weight(const GptConfig& config);

/// LayerNorm or RmsNorm, as the configuration says.
struct Norm : Module {
  Norm() = default;
  Norm(const GptConfig& config, std::int64_t width);
  Tensor operator()(const Tensor& x) const;

  std::variant<LayerNorm, RmsNorm> form;
};

}  // namespace reprise
