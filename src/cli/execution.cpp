// SPDX-License-Identifier: Apache-2.0
#include "cli/execution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cli/standard_streams.h"
#include "executor/executor_list.h"
#include "nn/model_save_list.h"
#include "recompute/read_policy.h"

namespace reprise {

CompileOptions compile_options(const ResolvedOptions& options) {
  CompileOptions compile = host_options(make_executor_list(fmt::format("{}", fmt::join(options.get_list("executors"), ","))),
                                        options.has("threads") ? static_cast<int>(options.get_int("threads")) : 0);
  if (options.has("dump")) compile.dump = options.get_text("dump");
  return compile;
}

CompileOptions compile_options(const ResolvedOptions& options, const GptConfig& config) {
  CompileOptions compile = compile_options(options);
  if (options.has("recompute")) compile.recompute = recompute_options(options, config, options.get_text("recompute"));
  return compile;
}

RecomputeOptions recompute_options(const ResolvedOptions& options, const GptConfig& config, const std::string& policy,
                                   std::optional<std::string> file_text) {
  RecomputeOptions recompute = read_recompute_options(policy, std::move(file_text));
  if (recompute.policy.path.empty()) {
    const ModelSaveList own = model_save_list(config);
    recompute.save_list = save_list_of(own.ops, fmt::format("the save list {}", own.name));
    recompute.save_list_name = own.name;
  }
  recompute.early_stop = !options.has("early_stop") || options.get_flag("early_stop");
  recompute.compat_eager = options.has("compat_eager") && options.get_flag("compat_eager");
  return recompute;
}

std::string save_list_text(const RecomputeOptions& recompute) {
  const PolicySpec::Kind kind = recompute.policy.kind;
  if (kind != PolicySpec::Kind::ops && kind != PolicySpec::Kind::alternate) return {};
  const std::vector<std::string> names = recompute.save_list.names();
  return fmt::format("save list {}: {}", recompute.save_list_name, names.empty() ? "empty" : fmt::format("{}", fmt::join(names, ", ")));
}

DType dtype_option(const ResolvedOptions& options) {
  if (!options.has("dtype")) return DType::float32;
  const std::string& name = options.get_text("dtype");
  return name == "bfloat16" ? DType::bfloat16 : name == "float64" ? DType::float64 : DType::float32;
}

Rounding rounding_option(const ResolvedOptions& options) {
  return options.get_text("rounding") == "stochastic" ? Rounding::stochastic : Rounding::nearest;
}

bool report_recompute_check(const ResolvedOptions& options, const std::optional<std::string>& difference) {
  const std::string& policy = options.get_text("recompute");
  if (difference) {
    print_error(fmt::format("reprise: recompute {} changes bits: {} is the first that differs from recompute none\n", policy, *difference));
    return false;
  }
  print_error(fmt::format(
      "reprise: recompute {}: loss, {}parameters and states of a step are those of recompute none, bit for bit\n", policy,
      policy.starts_with("file:") ? "" : "gradients, "));
  return true;
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
