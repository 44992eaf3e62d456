// SPDX-License-Identifier: Apache-2.0
// The general attention path: base/attention_formula.h row by row, for every dtype, mask, bias and dropout.
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

template <class E, class T>
void forward(const attention::Config& config, const attention::Inputs<E>& inputs, const attention::View<E>& out, T* lse, std::int64_t batch,
             std::int64_t head, T* workspace) {
  for (std::int64_t i = 0; i < config.queries; ++i) attention::forward_row(config, inputs, out, lse, batch, head, i, workspace);
}

template <class E, class T>
void backward(const attention::Config& config, const attention::Inputs<E>& inputs, const attention::View<const E>& out,
              const attention::View<const E>& dout, const T* lse, const attention::Gradients<E>& grads, std::int64_t batch,
              std::int64_t kv_head, T* workspace) {
  attention::backward_head(config, inputs, out, dout, lse, grads, batch, kv_head, workspace);
}

template <class E, class T>
void fill(AttentionRows<E, T>& table) {
  table.forward = forward<E, T>;
  table.backward = backward<E, T>;
}

}  // namespace

void fill_attention_rows(Kernels& kernels) {
  fill(kernels.attention_f32);
  fill(kernels.attention_f64);
  fill(kernels.attention_bf16);
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
