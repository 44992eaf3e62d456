// SPDX-License-Identifier: Apache-2.0
// From a policy to a plan.
#pragma once

#include <string>
#include <vector>

#include "analysis/node_price.h"
#include "recompute/plan.h"
#include "recompute/policy.h"
#include "recompute/save_list.h"

namespace reprise {

struct RecomputeOptions {
  PolicySpec policy;
  SaveList save_list = default_save_list();  // of `ops` and `alternate`
  std::string save_list_name = "default";    // whose it is: a kind of model's, or a file
  std::string plan_text;                     // of policy `file`: what the file holds
  /// Runs no more of a region again than is needed. Off: a region of which anything runs again runs to its end.
  bool early_stop = true;
  /// As systems do that work op by op while the model runs: what a save list names is stored though nothing reads it.
  bool compat_eager = false;
};

/// A plan, and what is worth saying about it to the user.
struct SolvedPlan {
  RecomputePlan plan;
  std::vector<std::string> warnings;
};

/// Plans for a claimed training trace. The empty plan, under `none`, means that every value is kept that backward reads; a
/// trace without backward has no other. `pricer` tells `auto` what a node costs to run again.
/// UserError for requests that cannot be met (see resolve_wishes), and for a file's plan that is for another trace.
SolvedPlan plan_recompute(const Trace& trace, const RecomputeOptions& options, const NodePricer& pricer);

}  // namespace reprise
