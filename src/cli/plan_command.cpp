// SPDX-License-Identifier: Apache-2.0
// `reprise plan`: what each recompute policy keeps, runs again and needs, for a model of any size. No weights are made.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/training_request.h"
#include "cli/units.h"
#include "compiler/memory_report.h"
#include "compiler/plan_svg.h"
#include "executor/engine.h"
#include "io/file_write.h"
#include "io/json.h"

namespace reprise {
namespace {

constexpr std::array<std::string_view, 6> kCompared{"none", "auto", "ops", "alternate", "layers:2", "full"};

struct PolicyRow {
  std::string policy;
  CompiledTraining training;
  EngineLayout layout;
  MemoryReport memory;
};

PolicyRow plan_policy(const ResolvedOptions& options, const TrainingTraces& traces, const std::string& policy) {
  CompileOptions compile = compile_options(options);
  compile.recompute = recompute_options(options, policy);
  PolicyRow row;
  row.policy = policy;
  row.training = compile_training(traces, compile);
  std::vector<CompiledTrace> programs = {row.training.step};
  if (row.training.accumulate) programs.push_back(*row.training.accumulate);
  row.layout = lay_out_engine(programs);
  row.memory = report_memory(row.training.step);
  return row;
}

/// Persistent bytes by what they are: parameters, and the states beside them.
struct Persistent {
  std::int64_t parameters = 0;
  std::int64_t states = 0;
};

Persistent persistent_of(const PolicyRow& row) {
  Persistent bytes;
  for (const TraceInput& input : row.training.step.claimed.trace.inputs) {
    const std::int64_t size = row.training.step.claimed.trace.type(input.value).bytes();
    if (input.role == Role::param) bytes.parameters += size;
    if (input.role == Role::state) bytes.states += size;
  }
  return bytes;
}

std::string table(const std::vector<PolicyRow>& rows) {
  std::size_t width = 9;
  for (const PolicyRow& row : rows) width = std::max(width, row.policy.size());
  std::string text = fmt::format("{:<{}}  {:>10}  {:>6}  {:>11}  {:>10}  {:>10}\n", "policy", width, "saved", "values", "recomputed", "peak", "transient");
  for (const PolicyRow& row : rows) {
    text += fmt::format("{:<{}}  {:>10}  {:>6}  {:>9.2f} %  {:>10}  {:>10}\n", row.policy, width, format_bytes(row.training.saved.bytes), row.training.saved.values.size(),
                        row.training.flops.recomputed_percent(), format_bytes(row.layout.peak_bytes()), format_bytes(row.layout.transient_bytes));
  }
  return text;
}

/// What fills the peak of a step, largest kind first.
std::string composition(const PolicyRow& row) {
  const Persistent persistent = persistent_of(row);
  std::string text = fmt::format("peak of {}: {} at {}\n", row.policy, format_bytes(row.layout.peak_bytes()), row.memory.peak);
  const auto line = [&](std::string_view name, std::int64_t bytes) {
    if (bytes > 0) text += fmt::format("  {:<12} {:>15} bytes  {:>10}\n", name, bytes, format_bytes(bytes));
  };
  line("parameters", persistent.parameters);
  line("states", persistent.states);
  for (const auto& [kind, bytes] : row.memory.by_kind()) line(kind, bytes);
  line("unused", row.layout.arena_bytes - row.layout.persistent_bytes - row.memory.live_bytes);
  line("library", row.layout.library_bytes);
  return text;
}

Json json_row(const PolicyRow& row) {
  const Persistent persistent = persistent_of(row);
  Json kinds = Json::object({{"parameters_bytes", persistent.parameters}, {"states_bytes", persistent.states}});
  for (const auto& [kind, bytes] : row.memory.by_kind()) kinds.set(kind + "_bytes", bytes);
  kinds.set("library_bytes", row.layout.library_bytes);
  return Json::object({{"policy", row.policy},
                       {"saved_for_backward_bytes", row.training.saved.bytes},
                       {"saved_for_backward_count", static_cast<std::int64_t>(row.training.saved.values.size())},
                       {"recomputed_flops_percent", row.training.flops.recomputed_percent()},
                       {"predicted_memory_bytes", row.layout.peak_bytes()},
                       {"persistent_bytes", row.layout.persistent_bytes},
                       {"transient_bytes", row.layout.transient_bytes},
                       {"peak_at", row.memory.peak},
                       {"peak", std::move(kinds)}});
}

void write_pictures(const ResolvedOptions& options, const GptConfig& config, const std::vector<PolicyRow>& rows) {
  std::vector<SvgCurve> curves;
  for (const PolicyRow& row : rows) curves.push_back(svg_curve(row.policy, row.layout.persistent_bytes, row.training.step));
  const std::string title = fmt::format("{}: {} layers, {} tokens x {}, {}", config.name, config.n_layer, config.block_size, options.get_int("micro_batch_size"), options.get_text("dtype"));
  write_text_file(options.get_text("svg"), plan_svg(title, curves));
}

}  // namespace

int run_plan(const ResolvedOptions& options) {
  const GptConfig config = model_of(options);
  CompileOptions compile = compile_options(options);
  const TrainingTraces traces = trace_training(training_request(options, config), compile);
  std::vector<std::string> policies;
  if (options.has("recompute")) policies.push_back(options.get_text("recompute"));
  else policies.assign(kCompared.begin(), kCompared.end());
  std::vector<PolicyRow> rows;
  for (const std::string& policy : policies) rows.push_back(plan_policy(options, traces, policy));

  std::string text = table(rows);
  for (const PolicyRow& row : rows) text += "\n" + composition(row);
  for (const PolicyRow& row : rows) {
    for (const std::string& warning : row.training.warnings) log_warning(warning);
  }
  bool on_output = false;
  for (const std::string_view name : {"json", "svg", "out"}) on_output = on_output || (options.has(name) && options.get_text(name) == "-");
  if (!on_output) fmt::print("{}", text);
  if (options.has("json")) {
    Json list = Json::array();
    for (const PolicyRow& row : rows) list.push_back(json_row(row));
    write_text_file(options.get_text("json"), write_json(Json::object({{"schema_version", 1}, {"model_name", config.name}, {"policies", std::move(list)}}), 2) + "\n");
  }
  if (options.has("svg")) write_pictures(options, config, rows);
  if (options.has("out")) {
    std::string plans;
    for (const RecomputePlan& plan : rows[0].training.recompute) plans += plan.str();
    write_text_file(options.get_text("out"), plans);
  }
  return 0;
}

}  // namespace reprise
