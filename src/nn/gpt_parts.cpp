// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt_parts.h"

#include <cmath>

namespace reprise {

LayerNames layer_names(const GptConfig& config) {
  if (config.weight_names == WeightNames::gpt2) return {"ln_1", "ln_2", "c_attn", "c_proj", "c_fc"};
  return {"norm_1", "norm_2", "qkv", "proj", "fc"};
}

LinearStorage linear_storage(const GptConfig& config) {
  return config.weight_names == WeightNames::gpt2 ? LinearStorage::in_out : LinearStorage::out_in;
}

Initializer fresh_weight(const GptConfig& config) { return Initializer::normal(config.initializer_range); }

Initializer fresh_residual_weight(const GptConfig& config) {
  return Initializer::normal(config.initializer_range / std::sqrt(2 * static_cast<double>(config.n_layer)));
}

Norm::Norm(const GptConfig& config, std::int64_t width) {
  if (config.norm_class == NormClass::rms_norm) {
    RmsNorm norm(width, config.norm_eps, config.norm_affine, config.norm_unit_offset);
    if (norm.weight.valid()) add_parameter("weight", norm.weight);
    form = norm;
    return;
  }
  LayerNorm norm(width, config.norm_eps, config.norm_affine, config.norm_affine);
  if (norm.weight.valid()) add_parameter("weight", norm.weight);
  if (norm.bias.valid()) add_parameter("bias", norm.bias);
  form = norm;
}

Tensor Norm::operator()(const Tensor& x) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  return std::visit([&](const auto& norm) { return norm(x); }, form);
}

}  // namespace reprise
