// SPDX-License-Identifier: Apache-2.0
// Each kernel file fills its part of the level's table.
#pragma once

#include "executor/loops/kernels.h"

#define REPRISE_DECLARE_FILLS(level)                                                               \
  namespace reprise::loops::level {                                                                \
  void fill_pointwise(Kernels& kernels);                                                           \
  void fill_rows(Kernels& kernels);                                                                \
  void fill_reductions(Kernels& kernels);                                                          \
  void fill_draws(Kernels& kernels);                                                               \
  void fill_products(Kernels& kernels);                                                            \
  void fill_optimizer(Kernels& kernels);                                                           \
  void fill_attention_rows(Kernels& kernels);                                                    \
  void fill_attention(Kernels& kernels);                                                           \
  }

REPRISE_DECLARE_FILLS(v2)
REPRISE_DECLARE_FILLS(v3)
REPRISE_DECLARE_FILLS(v4)

#undef REPRISE_DECLARE_FILLS
