// SPDX-License-Identifier: Apache-2.0
// How a command compiles and runs: machine, threads, executors, and numbers, from its options.
#pragma once

#include <optional>
#include <string>

#include "compiler/compile.h"
#include "nn/gpt_config.h"
#include "options/resolved_options.h"
#include "reprise/types.h"

namespace reprise {

/// Compile options of a command with the options `threads` (all processors where it has none) and `executors`.
CompileOptions compile_options(const ResolvedOptions& options);

/// The same for a command that trains `config`, with the option `recompute` where it is set.
CompileOptions compile_options(const ResolvedOptions& options, const GptConfig& config);

/// The recompute policy `policy` with the options that go with it, for a training step of `config`; reads the file it names,
/// unless `file_text` is what it holds. UserError for either.
RecomputeOptions recompute_options(const ResolvedOptions& options, const GptConfig& config, const std::string& policy,
                                   std::optional<std::string> file_text = {});

/// The save list that the policy goes by: whose it is, and its ops; empty for policies without one.
std::string save_list_text(const RecomputeOptions& recompute);

/// The option `dtype`; float32 where the command has none.
DType dtype_option(const ResolvedOptions& options);

/// The option `rounding`.
Rounding rounding_option(const ResolvedOptions& options);

/// Says on standard error how a check of the recompute policy came out; whether it held.
bool report_recompute_check(const ResolvedOptions& options, const std::optional<std::string>& difference);

/// "AVX-512", "AVX2", "SSE4.2".
std::string isa_title(IsaLevel level);

}  // namespace reprise
