// SPDX-License-Identifier: Apache-2.0
// What the layers of one pass over a sequence share: rotary tables, what may be seen, caches of keys and values.
#pragma once

#include <vector>

#include "nn/gpt_config.h"
#include "nn/tensor.h"

namespace reprise {

/// Keys and values of one layer: [B, n_query_groups, S, key width] and [B, n_query_groups, S, value width].
struct KeyValues {
  Tensor k;
  Tensor v;
};

/// Rows of rotary tables for the positions of a pass: [T, rope_n_elem] or [B, 1, T, rope_n_elem]. Invalid where nothing turns.
struct RopeRows {
  Tensor cos;
  Tensor sin;
};

/// What attention reads besides its input.
struct SequenceContext {
  RopeRows rope;
  RopeRows local_rope;      // of the layers with rope_local_base_freq
  Tensor mask;              // bool [1, 1, 1, S] over a cache; invalid: causal attention within the pass
  Tensor window_mask;       // the same for layers with a window
  Tensor segments;          // int64 [B, T]: attention stays within runs of equal ids; invalid: the whole row
  Tensor cache_position;    // int64 [1, 1, 1, 1]: where this pass's one position is written in the caches
  std::vector<KeyValues> caches;        // per layer, to read and write; empty without
  std::vector<KeyValues>* fresh = nullptr;  // receives keys and values per layer: those of this pass, or the caches with them written
  bool training = false;    // dropout acts

  /// The tables of layer `layer`; invalid where it does not turn.
  RopeRows rope_of(const GptConfig& config, std::int64_t layer) const {
    if (!config.rope_layers[layer]) return {};
    return config.rope_local_base_freq && config.rope_indices[layer] ? local_rope : rope;
  }
};

}  // namespace reprise
