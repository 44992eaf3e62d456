// SPDX-License-Identifier: Apache-2.0
// Traces of a GPT model: the forward pass with its loss that training differentiates, evaluation, and the two passes of
// generation with a cache of keys and values. Programs of one engine share parameters and tables by input name.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "nn/gpt_config.h"
#include "nn/tracer.h"

namespace reprise {

struct GptTraceOptions {
  std::int64_t batch = 1;
  std::int64_t length = 0;      // tokens a row; 0: the config's block size
  DType dtype = DType::float32; // of parameters and activations
  bool training = true;         // dropout acts
  bool output_logits = false;   // [B, T, padded vocabulary], after the loss
  bool token_losses = false;    // the losses of the targets [B * T] too (0 where ignored), after the loss
  bool packed = false;          // rows hold several documents: see `positions` below
  std::int64_t table_rows = 0;  // rows of the rotary tables, so that programs can share them; 0: as many as needed
};

/// Inputs: parameters (role param, all of them in registration order; state where not trained); `rope.cos`, `rope.sin`, and
/// `rope.local.cos`, `rope.local.sin` with rope_local_base_freq (state; float32, or float64 in a float64 trace); `tokens`, `targets` [B, T]
/// int64 (batch; target -100 is ignored); `inv_kept` (scalar, float32 or float64: 1 / targets kept in all micro-steps).
/// With `packed` there is `positions` [B, T] int64 (batch) too: a document's tokens are numbered from 0, and attention stays
/// within it. A document's values are then those of a row of its own.
/// Outputs: `loss` (sum of the row losses times inv_kept), then what else is asked for. UserError when the length is over the block size.
TracedProgram trace_forward_loss(const GptConfig& config, const GptTraceOptions& options);

/// As trace_forward_loss without dropout; outputs: the sum of the row losses (float32; float64), to be divided by the kept
/// targets of all batches. No inv_kept input.
TracedProgram trace_eval(const GptConfig& config, GptTraceOptions options);

/// The first pass of generation, over a prompt of up to `length` tokens. Inputs: parameters, tables, `tokens` [B, length]
/// (batch; anything after the prompt), `last` (scalar int64: index of the prompt's last token), the caches `cache.N.k`, `cache.N.v`
/// per layer [B, n_query_groups, cache_length, key or value width] (state; not read). Outputs: `logits` [B, padded vocabulary] at `last`,
/// then the caches (`cache.N.k.next`, ...), zero from `length` on, each donated from its input.
TracedProgram trace_prefill(const GptConfig& config, const GptTraceOptions& options, std::int64_t cache_length);

/// The pass for one more token. Inputs: parameters, tables, `token` [B, 1] int64 (batch), `position` (scalar int64: its
/// index, below cache_length), the caches (as trace_prefill's). Outputs: `logits`
/// [B, padded vocabulary], then the caches with the token written (`cache.N.k.next`, ...), each donated from its input.
/// options.length is not read.
TracedProgram trace_decode(const GptConfig& config, const GptTraceOptions& options, std::int64_t cache_length);

}  // namespace reprise
