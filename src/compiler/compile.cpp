// SPDX-License-Identifier: Apache-2.0
// The order of the stages. Read this file first.
#include "compiler/compile.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "autograd/differentiate.h"
#include "base/error.h"
#include "compiler/stage_files.h"
#include "memory/memory_plan.h"
#include "memory/schedule.h"
#include "ops/verifier.h"
#include "passes/pass_manager.h"
#include "passes/rng.h"
#include "recompute/apply.h"
#include "recompute/validate.h"
#include "recompute/warnings.h"

namespace reprise {
namespace {

StageFiles files_of(const CompileOptions& options, const std::string& program) { return {options.dump, options.failures, program}; }

/// Runs one stage on `trace`. What is not the user's error ends in an InternalError that names a file and how to replay it.
template <class Stage>
auto run_stage(std::string_view name, const Trace& trace, const StageFiles& files, Stage&& stage) {
  try {
    return stage();
  } catch (const UserError&) {
    throw;
  } catch (const std::exception& error) {
    std::rethrow_exception(files.failure(name, trace, error));
  }
}

/// Runs the passes called `names`.
Trace run_named(const Trace& trace, std::span<const std::string_view> names, StageFiles& files, const CompileOptions& options) {
  std::vector<Pass> passes;
  for (const std::string_view name : names) passes.push_back(find_pass(name));
  PassOptions pass_options;
  pass_options.compare = options.compare_passes;
  pass_options.dump = [&](std::string_view pass, const Trace& result) { files.dump(pass, result); };
  pass_options.save_failing = [&](std::string_view pass, const Trace& failing) { return files.save_failing(pass, failing); };
  return run_passes(trace, passes, pass_options);
}

constexpr std::string_view kPure[] = {"functionalize"};
constexpr std::string_view kClean[] = {"simplify", "cse", "dce", "renumber"};
constexpr std::string_view kAsTraced[] = {"renumber"};
// A user op keeps its own vjp through differentiation; after it the op is what it is made of.
constexpr std::string_view kLower[] = {"decompose", "simplify", "cse", "dce", "renumber"};
constexpr std::string_view kLowerAsTraced[] = {"decompose", "renumber"};

std::span<const std::string_view> cleaning_passes(const CompileOptions& options) {
  if (options.as_traced) return kAsTraced;
  return kClean;
}

std::span<const std::string_view> lowering_passes(const CompileOptions& options) {
  if (options.as_traced) return kLowerAsTraced;
  return kLower;
}

/// Takes back what claims allow of writing over inputs, where no donation needs it.
void forbid_in_place(ClaimedTrace& claimed) {
  const Trace& trace = claimed.trace;
  std::vector<bool> donated(trace.values.size());
  for (const Donation& donation : trace.donations) donated[trace.outputs[donation.output].index()] = true;
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    const std::vector<ValueId>& outputs = trace.nodes[n].outputs;
    const bool updates = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) { return donated[output.index()]; });
    if (!updates) claimed.claims[n].in_place.clear();
  }
}

std::vector<std::uint32_t> trace_order(const ClaimedTrace& claimed) {
  std::vector<std::uint32_t> order(claimed.trace.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

bool heeds_tags(const CompileOptions& options) { return options.recompute.policy.kind != PolicySpec::Kind::none; }

/// Passes keep tagged values that they would do without; where no one asks for the tags, they are not to cost a node.
Trace without_tags(Trace trace) {
  for (Value& value : trace.values) value.tags.clear();
  for (Node& node : trace.nodes) {
    for (Trace& body : node.bodies) body = without_tags(std::move(body));
  }
  return trace;
}

ClaimedTrace claim(const Trace& clean, StageFiles& files, const CompileOptions& options) {
  ClaimedTrace claimed = run_stage("claim", clean, files, [&] {
    ClaimedTrace result = claim_trace(clean, options.executors, options.target, options.threads);
    if (options.as_traced) forbid_in_place(result);
    verify_or_throw(result.trace, "the claim stage");
    return result;
  });
  files.dump("claim", claimed.trace);
  return claimed;
}

/// The plan for a claimed trace, and the trace that it makes of it, where it changes anything.
struct Recomputation {
  std::optional<ClaimedTrace> applied;
  RecomputePlan plan;
  std::vector<std::string> warnings;
};

Recomputation recompute(const ClaimedTrace& claimed, StageFiles& files, const CompileOptions& options) {
  Recomputation result;
  SolvedPlan solved =
      run_stage("recompute", claimed.trace, files, [&] { return plan_recompute(claimed.trace, options.recompute, SingleNodePricer()); });
  result.plan = std::move(solved.plan);
  result.warnings = std::move(solved.warnings);
  const bool from_file = options.recompute.policy.kind == PolicySpec::Kind::file;
  if (result.plan.empty() && !from_file) return result;
  files.dump("recompute_plan", result.plan.str());
  result.applied = run_stage("recompute", claimed.trace, files, [&] {
    validate_plan(claimed.trace, result.plan, from_file ? options.recompute.policy.path : std::string_view());
    ClaimedTrace applied =
        apply_plan(claimed, result.plan, [&](Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
          Claim claim = claim_node(node, inputs, outputs, options.executors, options.target, options.threads);
          if (options.as_traced) claim.in_place.clear();
          return claim;
        });
    verify_or_throw(applied.trace, "the recompute stage");
    return applied;
  });
  files.dump("recomputed", result.applied->trace);
  return result;
}

/// schedule -> memory plan.
CompiledTrace lower(const ClaimedTrace& claimed, StageFiles& files, const CompileOptions& options) {
  CompiledTrace compiled;
  compiled.name = claimed.trace.name;
  compiled.claimed = run_stage("schedule", claimed.trace, files, [&] {
    const std::vector<std::uint32_t> order = options.as_traced ? trace_order(claimed) : schedule(claimed);
    validate_schedule(claimed, order);
    ClaimedTrace result = apply_schedule(claimed, order);
    verify_or_throw(result.trace, "the schedule");
    return result;
  });
  files.dump("schedule", compiled.claimed.trace);
  compiled.plan = run_stage("memory", compiled.claimed.trace, files, [&] {
    MemoryPlan plan = plan_memory(compiled.claimed);
    validate_memory_plan(compiled.claimed, plan);
    return plan;
  });
  files.dump("memory", compiled.plan.str());
  return compiled;
}

ClaimedTrace clean_and_claim(const Trace& trace, StageFiles& files, const CompileOptions& options) {
  return claim(run_named(trace, lowering_passes(options), files, options), files, options);
}

/// A compiled trace and the plan that went into it.
struct PlannedTrace {
  CompiledTrace compiled;
  RecomputePlan plan;
  std::vector<std::string> warnings;
};

PlannedTrace compile_claimed(const ClaimedTrace& claimed, StageFiles& files, const CompileOptions& options) {
  Recomputation recomputed = recompute(claimed, files, options);
  return {lower(recomputed.applied ? *recomputed.applied : claimed, files, options), std::move(recomputed.plan),
          std::move(recomputed.warnings)};
}

/// Adds a trace's plan and warnings to those of the training; a warning that both traces give is given once.
void take_plan(CompiledTraining& training, PlannedTrace& planned) {
  training.recompute.push_back(std::move(planned.plan));
  for (std::string& warning : planned.warnings) {
    if (std::find(training.warnings.begin(), training.warnings.end(), warning) == training.warnings.end()) {
      training.warnings.push_back(std::move(warning));
    }
  }
}

}  // namespace

CompileOptions host_options(ExecutorList executors, int threads) {
  CompileOptions options;
  options.target = detect_target();
  options.threads = threads == 0 ? options.target.cores : threads;
  options.executors = std::move(executors);
  return options;
}

EngineOptions engine_options(const CompileOptions& compile, std::string what) {
  EngineOptions engine;
  engine.threads = compile.threads;
  engine.target = compile.target;
  engine.executors = compile.executors;
  engine.what = std::move(what);
  return engine;
}

PureForward make_pure(const Trace& forward, const CompileOptions& options) {
  StageFiles files = files_of(options, forward.name);
  files.dump("traced", forward);
  verify_or_throw(forward, "the front end");
  const Trace functional =
      heeds_tags(options) ? run_named(forward, kPure, files, options) : run_named(without_tags(forward), kPure, files, options);
  NumberedDraws drawn = run_stage("rng", functional, files, [&] { return number_draws(functional); });
  verify_or_throw(drawn.trace, "pass 'rng'");
  files.dump("rng", drawn.trace);
  return {run_named(drawn.trace, cleaning_passes(options), files, options), drawn.words};
}

ClaimedTrace clean_and_claim(const Trace& trace, const CompileOptions& options) {
  StageFiles files = files_of(options, trace.name);
  return clean_and_claim(trace, files, options);
}

RecomputedTrace clean_claim_recompute(const Trace& trace, const CompileOptions& options) {
  StageFiles files = files_of(options, trace.name);
  ClaimedTrace claimed = clean_and_claim(trace, files, options);
  Recomputation recomputed = recompute(claimed, files, options);
  return {recomputed.applied ? std::move(*recomputed.applied) : std::move(claimed), std::move(recomputed.plan),
          std::move(recomputed.warnings)};
}

CompiledTrace compile_trace(const Trace& trace, const CompileOptions& options, std::vector<std::string> session_states) {
  StageFiles files = files_of(options, trace.name);
  CompiledTrace compiled = compile_claimed(clean_and_claim(trace, files, options), files, options).compiled;
  compiled.session_states = std::move(session_states);
  return compiled;
}

TrainingTraces trace_training(const TrainingRequest& request, const CompileOptions& options) {
  TrainingTraces traces;
  traces.forward = make_pure(request.forward, options);
  const Trace& forward = traces.forward.trace;
  traces.code_warnings = heeds_tags(options) ? lost_wish_warnings(request.forward, forward) : passed_over_warnings(request.forward);
  StageFiles files = files_of(options, "training");
  const std::vector<ValueId> wanted = trainable_parameters(forward, request.trainable);
  traces.joint = run_stage("differentiate", forward, files, [&] {
    JointTrace joint = differentiate(forward, wanted, request.loss);
    verify_or_throw(joint.trace, "differentiation");
    return joint;
  });
  files.dump("joint", traces.joint.trace);
  traces.step = run_stage("optimizer", traces.joint.trace, files, [&] {
    StepTrace step = build_adamw_step(traces.joint, request.adamw, request.accumulate);
    step.trace.name = "step";
    verify_or_throw(step.trace, "the optimizer");
    return step;
  });
  files.dump("step", traces.step.trace);
  if (request.accumulate) {
    traces.accumulate = run_stage("accumulate", traces.joint.trace, files, [&] {
      Trace accumulate = build_accumulate(traces.joint);
      accumulate.name = "accumulate";
      verify_or_throw(accumulate, "accumulation");
      return accumulate;
    });
    files.dump("accumulate", *traces.accumulate);
  }
  return traces;
}

ClaimedTraining claim_training(const TrainingTraces& traces, const CompileOptions& options) {
  ClaimedTraining claimed;
  StageFiles files = files_of(options, traces.step.trace.name);
  claimed.step = clean_and_claim(traces.step.trace, files, options);
  claimed.stage_files = files.number();
  if (traces.accumulate) claimed.accumulate = clean_and_claim(*traces.accumulate, options);
  claimed.parameters = traces.step.parameters;
  claimed.forward_outputs = traces.step.forward_outputs;
  claimed.has_grad_norm = traces.step.has_grad_norm;
  claimed.random_words = traces.forward.random_words;
  claimed.code_warnings = traces.code_warnings;
  return claimed;
}

CompiledTraining compile_training(const TrainingRequest& request, const CompileOptions& options) {
  return compile_training(claim_training(trace_training(request, options), options), options);
}

CompiledTraining compile_training(const ClaimedTraining& claimed, const CompileOptions& options) {
  CompiledTraining compiled;
  compiled.warnings = claimed.code_warnings;
  const auto compile = [&](const ClaimedTrace& program) {
    StageFiles files(options.dump, options.failures, program.trace.name, claimed.stage_files);
    PlannedTrace planned = compile_claimed(program, files, options);
    take_plan(compiled, planned);
    return std::move(planned.compiled);
  };
  compiled.step = compile(claimed.step);
  if (claimed.accumulate) compiled.accumulate = compile(*claimed.accumulate);
  compiled.parameters = claimed.parameters;
  compiled.forward_outputs = claimed.forward_outputs;
  compiled.has_grad_norm = claimed.has_grad_norm;
  compiled.random_words = claimed.random_words;
  compiled.saved = saved_for_backward(compiled.step.claimed.trace);
  compiled.flops = count_flops(compiled.step.claimed.trace);
  return compiled;
}

}  // namespace reprise
