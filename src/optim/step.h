// SPDX-License-Identifier: Apache-2.0
// Joint trace -> step trace: clipping, the optimizer's update and, with several micro-steps, gradient accumulation.
#pragma once

#include <string>
#include <vector>

#include "autograd/differentiate.h"
#include "ir/trace.h"

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

/// What one trained parameter is called in a step trace, and its persistent companions (empty: none).
struct StepParameter {
  std::string name;
  std::string first_moment;   // NAME.m
  std::string second_moment;  // NAME.v
  std::string master;         // NAME.master
  std::string accumulator;    // NAME.acc
};

/// A whole training step. Inputs: those of the forward trace, then scalars `lr` (float32, or float64 in a float64 trace)
/// and `step` (int64, 1 first), `rounding_seed` (int64) with stochastic rounding, then the companions (role state).
/// Outputs: the forward trace's; `grad_norm` when it is computed; then per parameter p, m, v, master, accumulator,
/// each donated from its input. The accumulator's output is zero again.
struct StepTrace {
  Trace trace;
  std::vector<StepParameter> parameters;
  std::size_t forward_outputs = 0;
  bool has_grad_norm = false;
};

/// Builds the step that runs forward, backward, clipping and AdamW. `accumulated`: the gradients of earlier micro-steps
/// are read from the accumulators and this micro-step's are added.
StepTrace build_adamw_step(const JointTrace& joint, const AdamWOptions& options, bool accumulated = false);

/// Builds the trace of a micro-step that only accumulates: outputs the forward trace's, then the accumulators
/// (float32; float64 in float64 traces), donated. A gradient that one product makes is added block by block
/// (matmul_accumulate), so that it never exists by itself.
Trace build_accumulate(const JointTrace& joint);

}  // namespace reprise
