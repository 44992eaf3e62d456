// SPDX-License-Identifier: Apache-2.0
// What is asked for and does not act, or acts against itself: said once, by name, with what to do.
#pragma once

#include <string>
#include <vector>

#include "recompute/plan.h"
#include "recompute/solve.h"

namespace reprise {

/// Warnings about a policy and its plan for a claimed training trace: policies, regions and tags without effect, entries of a save
/// list that no block runs, and slow nodes that run again.
std::vector<std::string> plan_warnings(const Trace& trace, const RecomputeOptions& options, const RecomputePlan& plan);

/// Warnings about what the model's code, the trace `written`, wants of values and regions, all of which the policy `none` passes over.
std::vector<std::string> passed_over_warnings(const Trace& written);

/// Warnings about what the model's code, the trace `written`, wants of values and regions of which `pure` has nothing left, because
/// nothing reads them.
std::vector<std::string> lost_wish_warnings(const Trace& written, const Trace& pure);

}  // namespace reprise
