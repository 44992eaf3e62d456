// SPDX-License-Identifier: Apache-2.0
// A model's joint trace under a recompute policy, checked as it is made.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/saved.h"
#include "autograd/differentiate.h"
#include "base/bytes.h"
#include "base/target.h"
#include "executor/claim_trace.h"
#include "executor/reference_executor.h"
#include "interpreter/interpreter.h"
#include "interpreter/random_inputs.h"
#include "ir/printer.h"
#include "memory/memory_plan.h"
#include "memory/schedule.h"
#include "nn/tracer.h"
#include "ops/op_table.h"
#include "ops/verifier.h"
#include "passes/pass_manager.h"
#include "passes/rng.h"
#include "recompute/apply.h"
#include "recompute/solve.h"
#include "recompute/validate.h"

namespace reprise::test {

inline const ExecutorList& reference_only() {
  static const ExecutorList list = {&reference_executor()};
  return list;
}

/// functionalize, rng, differentiate by the parameters that match `trainable`, clean.
inline Trace clean_joint(const Trace& forward, std::string_view trainable = "*") {
  const Trace functional = run_passes(forward, std::vector{find_pass("functionalize")});
  const Trace pure = number_draws(functional).trace;
  JointTrace joint = differentiate(pure, trainable_parameters(pure, trainable));
  joint.trace.name = "step";
  return run_passes(joint.trace, std::vector{find_pass("simplify"), find_pass("cse"), find_pass("dce"), find_pass("renumber")});
}

/// The joint trace of what `model` makes of a tracer; `model` adds inputs and outputs, the loss first.
inline Trace joint_trace_of(const std::function<void(Tracer&)>& model, std::string_view trainable = "*") {
  Tracer tracer("step");
  model(tracer);
  return clean_joint(std::move(tracer).finish().trace, trainable);
}
/// The same, claimed.
inline ClaimedTrace joint_of(const std::function<void(Tracer&)>& model, std::string_view trainable = "*") {
  return claim_trace(joint_trace_of(model, trainable), reference_only(), Target{}, 1);
}

struct Recomputed {
  ClaimedTrace claimed;  // without the plan
  RecomputePlan plan;
  std::vector<std::string> warnings;
  ClaimedTrace applied;

  /// Nodes of this op and phase.
  int count(Opcode opcode, Phase phase) const {
    int found = 0;
    for (const Node& node : applied.trace.nodes) found += node.opcode == opcode && node.phase == phase;
    return found;
  }
  std::int64_t saved_bytes() const { return saved_for_backward(applied.trace).bytes; }
  bool keeps(const std::string& value) const {
    for (const SavedEntry& entry : plan.saved) {
      if (entry.value == value) return true;
    }
    return false;
  }
};

/// Plans, validates, applies; the result is well-formed and gives the bits of the trace without the plan.
inline Recomputed recompute(ClaimedTrace claimed, const RecomputeOptions& options, bool interpret_too = true) {
  Recomputed result;
  SolvedPlan solved = plan_recompute(claimed.trace, options, SingleNodePricer());
  validate_plan(claimed.trace, solved.plan);
  using Types = std::span<const TensorType>;
  result.applied = apply_plan(claimed, solved.plan, [](Node& node, Types inputs, Types outputs) {
    return claim_node(node, inputs, outputs, reference_only(), Target{}, 1);
  });
  result.plan = std::move(solved.plan);
  result.warnings = std::move(solved.warnings);
  result.claimed = std::move(claimed);
  const std::vector<std::string> problems = verify(result.applied.trace);
  EXPECT_TRUE(problems.empty()) << problems[0];
  if (!interpret_too) return result;
  const std::vector<HostTensor> inputs = random_inputs(result.claimed.trace, 5, 4);
  const std::vector<HostTensor> expected = interpret(result.claimed.trace, inputs);
  const std::vector<HostTensor> found = interpret(result.applied.trace, inputs);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    EXPECT_TRUE(equal_bytes(found[o].bytes(), expected[o].bytes()))
        << "output " << o << " under " << result.plan.policy << "\n" << print_trace(result.applied.trace);
  }
  return result;
}

inline Recomputed recompute(ClaimedTrace claimed, const std::string& policy, bool interpret_too = true) {
  RecomputeOptions options;
  options.policy = parse_policy(policy);
  return recompute(std::move(claimed), options, interpret_too);
}

/// Bytes of the transient region that the trace needs in its own order, laid out by the memory planner.
inline std::int64_t transient_bytes(const ClaimedTrace& claimed) {
  const ClaimedTrace ordered = apply_schedule(claimed, schedule(claimed));
  const MemoryPlan plan = plan_memory(ordered);
  validate_memory_plan(ordered, plan);
  return plan.transient_bytes;
}

}  // namespace reprise::test
