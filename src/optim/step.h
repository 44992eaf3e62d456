// SPDX-License-Identifier: Apache-2.0
// Joint trace -> step trace: clipping, the optimizer's update and, with several micro-steps, gradient accumulation.
#pragma once

#include <string>
#include <vector>

#include "autograd/differentiate.h"
#include "ir/trace.h"
#include "optim/adamw_options.h"

namespace reprise {

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
