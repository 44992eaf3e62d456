// SPDX-License-Identifier: Apache-2.0
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"
namespace reprise::loops::REPRISE_ISA_LEVEL {
void fill_attention(Kernels& kernels) {
  kernels.attention.forward_workspace = [](const attention::Config&) { return std::size_t{0}; };
  kernels.attention.backward_workspace = [](const attention::Config&) { return std::size_t{0}; };
  kernels.attention.tiles_take = [](const attention::Config&, const attention::Inputs<float>&) { return false; };
}
}
