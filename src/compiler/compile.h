// SPDX-License-Identifier: Apache-2.0
// The pipeline: from a forward trace to the compiled programs of an engine. compile.cpp is the only file that knows the
// order of the stages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/flops.h"
#include "analysis/saved.h"
#include "base/target.h"
#include "executor/claim_trace.h"
#include "executor/compiled_trace.h"
#include "executor/engine.h"
#include "ir/trace.h"
#include "optim/step.h"
#include "recompute/solve.h"

namespace reprise {

struct CompileOptions {
  Target target;
  int threads = 1;
  ExecutorList executors;               // in the order they are asked
  std::filesystem::path dump;           // every stage is written here, numbered; empty: none
  std::filesystem::path failures;       // where a failing stage leaves its trace; empty: `dump`, or a new folder among the temporary ones
  RecomputeOptions recompute;           // of traces with a backward
  bool compare_passes = false;          // interpret before and after every pass and require equal bits
  /// Node by node: no pass that improves the trace, no other order, and no node writes over what it reads, the update of
  /// parameters and states apart.
  bool as_traced = false;
};

/// Options that compile for this machine, for `executors` in the order they are asked, and `threads`; 0: all of its processors.
CompileOptions host_options(ExecutorList executors, int threads = 0);

/// Options of an engine for programs compiled so. `what`: see EngineOptions.
EngineOptions engine_options(const CompileOptions& compile, std::string what = "the step");

/// A forward trace made pure: no in-place node, no draw of the generator.
struct PureForward {
  Trace trace;
  std::int64_t random_words = 0;  // the host adds this to the input `rng.offset` after every run
};

/// functionalize -> rng -> simplify, cse, dce (the last three not `as_traced`). Under the policy `none` tags are left behind: the
/// trace is what it would be without them.
PureForward make_pure(const Trace& forward, const CompileOptions& options);

/// decompose, simplify, cse, dce -> claim -> recompute -> schedule -> memory plan: of a pure trace; `as_traced` decompose ->
/// claim -> recompute -> memory plan. Every stage is validated. The program is called after the trace. `session_states`: see
/// CompiledTrace. A stage that fails throws InternalError naming the file its trace was left in and the command that replays it.
CompiledTrace compile_trace(const Trace& trace, const CompileOptions& options, std::vector<std::string> session_states = {});

/// The first part of compile_trace: decompose, simplify, cse, dce -> claim.
ClaimedTrace clean_and_claim(const Trace& trace, const CompileOptions& options);

/// A claimed trace in which backward makes again what the plan does not keep.
struct RecomputedTrace {
  ClaimedTrace claimed;
  RecomputePlan plan;
  std::vector<std::string> warnings;
};

/// As far as the stage recompute: simplify, cse, dce -> claim -> recompute.
RecomputedTrace clean_claim_recompute(const Trace& trace, const CompileOptions& options);

struct TrainingRequest {
  Trace forward;               // outputs: the loss (a floating scalar) at index `loss`, and anything else
  std::size_t loss = 0;
  std::string trainable = "*"; // globs of parameter names, comma-separated
  AdamWOptions adamw;
  bool accumulate = false;     // several micro-steps: makes the program "accumulate" too
};

/// The traces and programs of training.
struct CompiledTraining {
  CompiledTrace step;                        // "step"
  std::optional<CompiledTrace> accumulate;   // "accumulate"
  std::vector<StepParameter> parameters;     // the trained ones and their companions
  std::size_t forward_outputs = 0;           // outputs of step and accumulate that are the forward trace's
  bool has_grad_norm = false;                // output `forward_outputs` of step
  std::int64_t random_words = 0;             // of one micro-step
  SavedReport saved;                         // of the step
  FlopCount flops;                           // of the step
  std::vector<RecomputePlan> recompute;      // of step and accumulate
  std::vector<std::string> warnings;         // about the recompute policy
};

/// make_pure -> differentiate -> optim -> compile_trace.
CompiledTraining compile_training(const TrainingRequest& request, const CompileOptions& options);

/// The traces of training before claim and schedule.
struct TrainingTraces {
  PureForward forward;
  JointTrace joint;
  StepTrace step;
  std::optional<Trace> accumulate;
  std::vector<std::string> code_warnings;  // about what the model's code wants of values and regions: see recompute/warnings.h
};
TrainingTraces trace_training(const TrainingRequest& request, const CompileOptions& options);

/// A training step up to the claim, which is the same under every recompute policy that heeds tags, and under `none` too where the
/// model has none.
struct ClaimedTraining {
  ClaimedTrace step;
  std::optional<ClaimedTrace> accumulate;
  int stage_files = 0;                     // of each trace: how many are written, so that the numbers of the others go on
  std::vector<StepParameter> parameters;   // these as in CompiledTraining
  std::size_t forward_outputs = 0;
  bool has_grad_norm = false;
  std::int64_t random_words = 0;
  std::vector<std::string> code_warnings;
};
ClaimedTraining claim_training(const TrainingTraces& traces, const CompileOptions& options);

/// The part of compile_training after claim_training: several policies can be tried on one.
CompiledTraining compile_training(const ClaimedTraining& claimed, const CompileOptions& options);

}  // namespace reprise
