// SPDX-License-Identifier: Apache-2.0
#include "executor/loops/kernels.h"

#include "executor/loops/kernels/fill_tables.h"

namespace reprise::loops {
namespace {

#define REPRISE_MAKE_KERNELS(level)                                                                \
  Kernels make_##level() {                                                                         \
    Kernels kernels;                                                                               \
    kernels.isa = IsaLevel::level;                                                                 \
    level::fill_pointwise(kernels);                                                                \
    level::fill_reductions(kernels);                                                               \
    level::fill_rows(kernels);                                                                     \
    level::fill_draws(kernels);                                                                    \
    level::fill_products(kernels);                                                                 \
    level::fill_optimizer(kernels);                                                                \
    level::fill_attention_rows(kernels);                                                           \
    level::fill_attention(kernels);                                                                \
    return kernels;                                                                                \
  }

REPRISE_MAKE_KERNELS(v2)
REPRISE_MAKE_KERNELS(v3)
REPRISE_MAKE_KERNELS(v4)

#undef REPRISE_MAKE_KERNELS

}  // namespace

const Kernels& kernels_for(IsaLevel isa) {
  switch (isa) {
    case IsaLevel::v4: {
      static const Kernels kernels = make_v4();
      return kernels;
    }
    case IsaLevel::v3: {
      static const Kernels kernels = make_v3();
      return kernels;
    }
    case IsaLevel::v2: break;
  }
  static const Kernels kernels = make_v2();
  return kernels;
}

}  // namespace reprise::loops
