// SPDX-License-Identifier: Apache-2.0
#include "nn/mlp.h"

namespace reprise {

Mlp::Mlp(const GptConfig& config, std::int64_t width) : form(config.mlp_class), gelu_tanh(config.gelu_tanh) {
  const LayerNames names = layer_names(config);
  const auto inner = [&] { return Linear(config.n_embd, width, config.bias, fresh_weight(config), linear_storage(config)); };
  if (form == MlpClass::gpt_neox) {
    fc = add_module(names.fc, inner());
  } else {
    fc_1 = add_module("fc_1", inner());
    fc_2 = add_module("fc_2", inner());
  }
  proj = add_module(names.proj, Linear(width, config.n_embd, config.bias, fresh_residual_weight(config), linear_storage(config)));
}

Tensor Mlp::operator()(const Tensor& x) const {
  const Tracer::Scope scope = x.tracer().module(module_name());
  if (form == MlpClass::gpt_neox) return proj(fc(x).gelu(gelu_tanh));
  const Tensor gate = fc_1(x);
  return proj((form == MlpClass::gemma ? gate.gelu(gelu_tanh) : gate.silu()) * fc_2(x));
}

}  // namespace reprise
