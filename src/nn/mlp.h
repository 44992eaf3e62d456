// SPDX-License-Identifier: Apache-2.0
// The MLP of one layer, gated or plain.
#pragma once

#include <cstdint>

#include "nn/gpt_parts.h"

namespace reprise {

struct Mlp : Module {
  Mlp() = default;
  /// `width`: elements between its layers.
  Mlp(const GptConfig& config, std::int64_t width);
  Tensor operator()(const Tensor& x) const;

  MlpClass form = MlpClass::gpt_neox;
  bool gelu_tanh = false;
  Linear fc;            // gpt_neox
  Linear fc_1, fc_2;    // llama, gemma, an expert of llama_moe
  Linear proj;
};

}  // namespace reprise
