// SPDX-License-Identifier: Apache-2.0
#include "cli/execution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "executor/executor_list.h"

namespace reprise {

CompileOptions compile_options(const ResolvedOptions& options) {
  CompileOptions compile;
  compile.target = detect_target();
  compile.threads = options.has("threads") ? static_cast<int>(options.get_int("threads")) : 0;
  if (compile.threads == 0) compile.threads = compile.target.cores;
  compile.executors = make_executor_list(fmt::format("{}", fmt::join(options.get_list("executors"), ",")));
  if (options.has("dump")) compile.dump = options.get_text("dump");
  return compile;
}

EngineOptions engine_options(const CompileOptions& compile) {
  EngineOptions engine;
  engine.threads = compile.threads;
  engine.target = compile.target;
  engine.executors = compile.executors;
  return engine;
}

DType dtype_option(const ResolvedOptions& options) {
  if (!options.has("dtype")) return DType::float32;
  const std::string& name = options.get_text("dtype");
  return name == "bfloat16" ? DType::bfloat16 : name == "float64" ? DType::float64 : DType::float32;
}

Rounding rounding_option(const ResolvedOptions& options) {
  return options.get_text("rounding") == "stochastic" ? Rounding::stochastic : Rounding::nearest;
}

std::string isa_title(IsaLevel level) {
  switch (level) {
    case IsaLevel::v2: return "SSE4.2";
    case IsaLevel::v3: return "AVX2";
    case IsaLevel::v4: return "AVX-512";
  }
  return "";
}

}  // namespace reprise
