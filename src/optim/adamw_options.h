// SPDX-License-Identifier: Apache-2.0
// What AdamW (Loshchilov and Hutter, 2019) is told beside the learning rate.
#pragma once

#include "ir/attrs.h"

namespace reprise {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  bool decay_vectors = false;  // decay parameters of rank < 2 too
  double max_norm = 0;         // clip the global gradient norm to this; 0: no clipping
  bool log_norm = false;       // output the norm even without clipping
  bool master_weights = false; // float32 master and moments beside 16-bit parameters
  Rounding rounding = Rounding::nearest;  // of 16-bit parameters and moments without a master
};

}  // namespace reprise
