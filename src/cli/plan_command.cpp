// SPDX-License-Identifier: Apache-2.0
// `reprise plan`: what each recompute policy keeps, runs again and needs, for a model of any size. No weights are made.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/standard_streams.h"
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
  RecomputeOptions recompute;
  CompiledTraining training;
  EngineLayout layout;
  MemoryReport memory;
};

PolicyRow plan_policy(const ResolvedOptions& options, const GptConfig& config, const TrainingTraces& traces, const std::string& policy) {
  CompileOptions compile = compile_options(options);
  compile.recompute = recompute_options(options, config, policy);
  PolicyRow row;
  row.policy = policy;
  row.training = compile_training(traces, compile);
  row.recompute = std::move(compile.recompute);
  std::vector<CompiledTrace> programs = {row.training.step};
  if (row.training.accumulate) programs.push_back(*row.training.accumulate);
  row.layout = lay_out_engine(programs);
  row.memory = report_memory(row.training.step);
  return row;
}

using Parts = std::vector<std::pair<std::string, std::int64_t>>;

/// Persistent bytes by what they are.
Parts persistent_parts(const PolicyRow& row) {
  std::map<std::string, std::string> state_kinds;
  for (const StepParameter& parameter : row.training.parameters) {
    for (const std::string& moment : {parameter.first_moment, parameter.second_moment}) state_kinds.emplace(moment, "moments");
    state_kinds.emplace(parameter.master, "masters");
    state_kinds.emplace(parameter.accumulator, "accumulators");
  }
  Parts parts{{"parameters", 0}, {"moments", 0}, {"masters", 0}, {"accumulators", 0}, {"tables", 0}};
  const Trace& trace = row.training.step.claimed.trace;
  for (const TraceInput& input : trace.inputs) {
    if (input.role != Role::param && input.role != Role::state) continue;
    const auto found = state_kinds.find(trace[input.value].name);
    const std::string kind = input.role == Role::param ? "parameters" : found == state_kinds.end() ? "tables" : found->second;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& one) { return one.first == kind; });
    part->second += trace.type(input.value).bytes();
  }
  return parts;
}

/// Everything that the peak of a step consists of, by what it is; the sum is the predicted peak. Activations of the vocabulary's
/// width are logits, whatever else they are.
Parts peak_parts(const PolicyRow& row, const GptConfig& config) {
  Parts parts = persistent_parts(row);
  std::int64_t rest = row.layout.peak_bytes();
  const std::string width = fmt::format(", {}]", config.padded_vocab_size);
  std::map<std::string, std::int64_t> live;
  for (const LiveValue& value : row.memory.live) {
    const bool is_logits = value.kind != "gradient" && value.type.ends_with(width);
    live[is_logits ? "logits" : value.kind] += value.bytes;
  }
  Parts transient(live.begin(), live.end());
  std::stable_sort(transient.begin(), transient.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  parts.insert(parts.end(), transient.begin(), transient.end());
  parts.emplace_back("library", row.layout.library_bytes);
  for (const auto& [kind, bytes] : parts) rest -= bytes;
  parts.emplace_back("unused", rest);
  return parts;
}

/// What the step is of, where that is not what the name of a model says: `bench` has other vocabularies and unties embeddings.
std::string model_line(const GptConfig& config) {
  return fmt::format("model {}: vocabulary {}{}, {} embeddings\n\n", config.name, config.padded_vocab_size,
                     config.vocab_follows_tokenizer ? " (of train: its tokenizer's)" : "", config.tied ? "tied" : "untied");
}

std::string table(const std::vector<PolicyRow>& rows) {
  std::size_t width = 9;
  for (const PolicyRow& row : rows) width = std::max(width, row.policy.size());
  std::string text =
      fmt::format("{:<{}}  {:>10}  {:>6}  {:>11}  {:>10}  {:>10}\n", "policy", width, "saved", "values", "recomputed", "peak", "transient");
  for (const PolicyRow& row : rows) {
    text += fmt::format("{:<{}}  {:>10}  {:>6}  {:>9.2f} %  {:>10}  {:>10}\n", row.policy, width, format_bytes(row.training.saved.bytes),
                        row.training.saved.values.size(), row.training.flops.recomputed_percent(), format_bytes(row.layout.peak_bytes()),
                        format_bytes(row.layout.transient_bytes));
  }
  return text;
}

std::string composition(const PolicyRow& row, const GptConfig& config) {
  std::string text = fmt::format("peak of {}: {} at {}\n", row.policy, format_bytes(row.layout.peak_bytes()), row.memory.peak);
  for (const auto& [kind, bytes] : peak_parts(row, config)) {
    if (bytes > 0) text += fmt::format("  {:<12} {:>15} bytes  {:>10}\n", kind, bytes, format_bytes(bytes));
  }
  return text;
}

/// The save lists that policies go by, each once.
std::string save_lists(const std::vector<PolicyRow>& rows) {
  std::vector<std::string> lines;
  for (const PolicyRow& row : rows) {
    const std::string line = save_list_text(row.recompute);
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return lines.empty() ? std::string() : fmt::format("\n{}\n", fmt::join(lines, "\n"));
}

Json json_row(const PolicyRow& row, const GptConfig& config) {
  Json kinds = Json::object();
  for (const auto& [kind, bytes] : peak_parts(row, config)) kinds.set(kind + "_bytes", bytes);
  Json json = Json::object({{"policy", row.policy},
                            {"saved_for_backward_bytes", row.training.saved.bytes},
                            {"saved_for_backward_count", static_cast<std::int64_t>(row.training.saved.values.size())},
                            {"recomputed_flops_percent", row.training.flops.recomputed_percent()},
                            {"predicted_memory_bytes", row.layout.peak_bytes()},
                            {"persistent_bytes", row.layout.persistent_bytes},
                            {"transient_bytes", row.layout.transient_bytes},
                            {"peak_at", row.memory.peak},
                            {"peak", std::move(kinds)}});
  if (!save_list_text(row.recompute).empty()) json.set("save_list", row.recompute.save_list_name);
  return json;
}

void write_pictures(const ResolvedOptions& options, const GptConfig& config, const std::vector<PolicyRow>& rows) {
  std::vector<SvgCurve> curves;
  for (const PolicyRow& row : rows) curves.push_back(svg_curve(row.policy, row.layout.persistent_bytes, row.training.step));
  const std::string title = fmt::format("{}: {} layers, {} tokens x {}, {}", config.name, config.n_layer, config.block_size,
                                        options.get_int("micro_batch_size"), options.get_text("dtype"));
  write_text_file(options.get_text("svg"), plan_svg(title, curves));
}

}  // namespace

int run_plan(const ResolvedOptions& options) {
  const GptConfig config = model_of(options);
  const TrainingTraces traces = trace_training(training_request(options, config), compile_options(options));
  std::vector<std::string> policies;
  if (options.has("recompute")) policies.push_back(options.get_text("recompute"));
  else policies.assign(kCompared.begin(), kCompared.end());
  std::vector<PolicyRow> rows;
  for (const std::string& policy : policies) rows.push_back(plan_policy(options, config, traces, policy));

  std::string text = model_line(config) + table(rows) + save_lists(rows);
  for (const PolicyRow& row : rows) text += "\n" + composition(row, config);
  for (const PolicyRow& row : rows) {
    for (const std::string& warning : row.training.warnings) log_warning(warning);
  }
  bool on_output = false;
  for (const std::string_view name : {"json", "svg", "out"}) on_output = on_output || (options.has(name) && options.get_text(name) == "-");
  if (options.has("json")) {
    Json list = Json::array();
    for (const PolicyRow& row : rows) list.push_back(json_row(row, config));
    write_text_file(
        options.get_text("json"),
        write_json(Json::object({{"schema_version", 1}, {"model_name", config.name}, {"policies", std::move(list)}}), 2) + "\n");
  }
  if (options.has("svg")) write_pictures(options, config, rows);
  if (options.has("out")) write_text_file(options.get_text("out"), plans_text(rows[0].training.recompute));
  if (!on_output) print_output(text);
  return 0;
}

}  // namespace reprise
