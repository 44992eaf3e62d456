// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one file each. A command prints its results on standard output, everything else on standard error,
// and returns the exit status.
#pragma once

#include "options/resolved_options.h"

namespace reprise {

/// The answer is no, or a check failed.
inline constexpr int kExitNo = 1;
inline constexpr int kExitUserError = 2;
inline constexpr int kExitInternalError = 3;
inline constexpr int kExitDeviceError = 4;
/// Plus the signal's number: interrupted, with a checkpoint written.
inline constexpr int kExitSignal = 128;

int run_train(const ResolvedOptions& options);
int run_generate(const ResolvedOptions& options);
int run_eval(const ResolvedOptions& options);
int run_bench(const ResolvedOptions& options);
int run_plan(const ResolvedOptions& options);
int run_explain(const ResolvedOptions& options);
int run_trace(const ResolvedOptions& options);
int run_run_trace(const ResolvedOptions& options);
int run_models(const ResolvedOptions& options);
int run_info(const ResolvedOptions& options);
int run_export(const ResolvedOptions& options);
int run_completion(const ResolvedOptions& options);

}  // namespace reprise
