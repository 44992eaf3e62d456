// SPDX-License-Identifier: Apache-2.0
// From an attention node to what its formula (base/attention_formula.h) is told: for the reference and for compiled loops.
#pragma once

#include "base/attention_formula.h"
#include "ir/attrs.h"
#include "ir/shape.h"

namespace reprise {

/// Returns sizes and attributes; the seed and the offset of its draws are data and stay 0.
/// q: [B, Hq, Tq, D], k: [B, Hkv, Tk, D], v: [B, Hkv, Tk, Dv].
inline attention::Config attention_config(const AttentionAttrs& attrs, const Shape& q, const Shape& k, const Shape& v) {
  attention::Config config;
  config.batch = q[0];
  config.q_heads = q[1];
  config.kv_heads = k[1];
  config.queries = q[2];
  config.keys = k[2];
  config.width = q[3];
  config.value_width = v[3];
  config.scale = attrs.scale;
  config.causal = attrs.causal;
  config.offset = attrs.offset;
  config.window = attrs.window;
  config.softcap = attrs.softcap;
  config.dropout = attrs.dropout;
  return config;
}

}  // namespace reprise
