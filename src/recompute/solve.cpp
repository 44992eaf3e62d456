// SPDX-License-Identifier: Apache-2.0
#include "recompute/solve.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/shown_text.h"
#include "recompute/auto_cut.h"
#include "recompute/demand.h"
#include "recompute/flow.h"
#include "recompute/warnings.h"
#include "recompute/wishes.h"

namespace reprise {
namespace {

bool has_backward(const Trace& trace) {
  return std::any_of(trace.nodes.begin(), trace.nodes.end(), [](const Node& node) { return node.phase == Phase::backward; });
}

bool keeps_everything(const RecomputePlan& plan) {
  const auto kept = [](const SavedEntry& entry) { return entry.how == SavedEntry::How::keep; };
  return plan.copies.empty() && std::all_of(plan.saved.begin(), plan.saved.end(), kept);
}

/// What a step's nodes, names and types come from.
constexpr std::string_view kOfTheStep =
    "the model and its sizes, the vocabulary, tied embeddings, block_size, micro_batch_size, several micro-steps against one "
    "(global_batch_size), dtype, master_weights, rounding, trainable, max_norm, dropout, pack_documents, and the executors and the machine, "
    "which decide on layouts; with max_norm 0 train measures the norm still, plan and bench do not";

RecomputePlan read_plan(const Trace& trace, const RecomputeOptions& options) {
  const std::string& file = options.policy.path;
  std::string held;
  for (RecomputePlan& plan : parse_plans(options.plan_text, file)) {
    if (plan.trace != trace.name) {
      held += (held.empty() ? "" : ", ") + shown_text(plan.trace);
      continue;
    }
    if (plan.fingerprint == trace_fingerprint(trace)) return std::move(plan);
    throw UserError(
        fmt::format("the recompute plan {} was made for another {} ({:016x}, this one is {:016x}). Compare {}. The plan of a run is "
                    "RUN/recompute_plan.txt; reprise plan --out writes that of a step",
                    file, trace.name, plan.fingerprint, trace_fingerprint(trace), kOfTheStep));
  }
  throw UserError(fmt::format("{} holds no recompute plan for {}, but for {}; a run of several micro-steps needs one for step and one for "
                              "accumulate, which reprise plan --out writes with its --global_batch_size",
                              file, trace.name, held));
}

}  // namespace

SolvedPlan plan_recompute(const Trace& trace, const RecomputeOptions& options, const NodePricer& pricer) {
  SolvedPlan solved;
  RecomputePlan& plan = solved.plan;
  plan.policy = options.policy.str();
  plan.trace = trace.name;
  plan.fingerprint = trace_fingerprint(trace);
  if (!has_backward(trace)) return solved;
  switch (options.policy.kind) {
    case PolicySpec::Kind::none: break;
    case PolicySpec::Kind::file:  // validate_plan has the word on it
      plan = read_plan(trace, options);
      if (keeps_everything(plan)) {
        solved.warnings.push_back(fmt::format("recompute {} has no effect: its plan makes nothing again; recompute none is the same", options.policy.str()));
      }
      return solved;
    default: {
      const ForwardFlow flow(trace);
      Wishes wishes = resolve_wishes(flow, options.policy, options.save_list);
      if (options.policy.kind == PolicySpec::Kind::automatic) decide_open_wishes(flow, pricer, wishes);
      meet_demand(flow, wishes, options, plan);
    }
  }
  solved.warnings = plan_warnings(trace, options, plan);
  return solved;
}

}  // namespace reprise
