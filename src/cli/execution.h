// SPDX-License-Identifier: Apache-2.0
// How a command compiles and runs: machine, threads, executors, and numbers, from its options.
#pragma once

#include <string>

#include "base/dtype.h"
#include "compiler/compile.h"
#include "executor/engine.h"
#include "options/resolved_options.h"

namespace reprise {

/// Compile options of a command with the options `threads` (all processors where it has none) and `executors`.
CompileOptions compile_options(const ResolvedOptions& options);

/// Engine options that go with them.
EngineOptions engine_options(const CompileOptions& compile);

/// The option `dtype`; float32 where the command has none.
DType dtype_option(const ResolvedOptions& options);

/// The option `rounding`.
Rounding rounding_option(const ResolvedOptions& options);

/// "AVX-512", "AVX2", "SSE4.2".
std::string isa_title(IsaLevel level);

}  // namespace reprise
