// SPDX-License-Identifier: Apache-2.0
// `reprise plan`: what each recompute policy keeps, runs again and needs, for a model of any size. No weights are made.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
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

using Parts = std::vector<std::pair<std::string, std::int64_t>>;

/// What is said of one policy. The programs themselves are not kept: those of six policies would take six times their memory.
struct PolicyRow {
  std::string policy;
  RecomputeOptions recompute;
  std::vector<RecomputePlan> plans;
  std::vector<std::string> warnings;
  std::int64_t saved_bytes = 0;
  std::size_t saved_count = 0;
  double recomputed_percent = 0;
  EngineLayout layout;
  std::string peak_at;
  Parts peak;
  std::optional<SvgCurve> curve;  // where a picture is wanted
};

/// Persistent bytes by what they are.
Parts persistent_parts(const Trace& step, const std::vector<StepParameter>& parameters) {
  std::map<std::string, std::string> state_kinds;
  for (const StepParameter& parameter : parameters) {
    for (const std::string& moment : {parameter.first_moment, parameter.second_moment}) state_kinds.emplace(moment, "moments");
    state_kinds.emplace(parameter.master, "masters");
    state_kinds.emplace(parameter.accumulator, "accumulators");
  }
  Parts parts{{"parameters", 0}, {"moments", 0}, {"masters", 0}, {"accumulators", 0}, {"tables", 0}};
  for (const TraceInput& input : step.inputs) {
    if (input.role != Role::param && input.role != Role::state) continue;
    const auto found = state_kinds.find(step[input.value].name);
    const std::string kind = input.role == Role::param ? "parameters" : found == state_kinds.end() ? "tables" : found->second;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& one) { return one.first == kind; });
    part->second += step.type(input.value).bytes();
  }
  return parts;
}

/// Everything that the peak of a step consists of, by what it is; the sum is the predicted peak. Activations of the vocabulary's
/// width are logits, whatever else they are.
Parts peak_parts(Parts persistent, const EngineLayout& layout, const MemoryReport& memory, const GptConfig& config) {
  Parts parts = std::move(persistent);
  std::int64_t rest = layout.peak_bytes();
  const std::string width = fmt::format(", {}]", config.padded_vocab_size);
  std::map<std::string, std::int64_t> live;
  for (const LiveValue& value : memory.live) {
    const bool is_logits = value.kind != "gradient" && value.type.ends_with(width);
    live[is_logits ? "logits" : value.kind] += value.bytes;
  }
  Parts transient(live.begin(), live.end());
  std::stable_sort(transient.begin(), transient.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  parts.insert(parts.end(), transient.begin(), transient.end());
  parts.emplace_back("library", layout.library_bytes);
  for (const auto& [kind, bytes] : parts) rest -= bytes;
  parts.emplace_back("unused", rest);
  return parts;
}

PolicyRow plan_policy(const ResolvedOptions& options, const GptConfig& config, const ClaimedTraining& claimed, const std::string& policy) {
  CompileOptions compile = compile_options(options);
  compile.recompute = recompute_options(options, config, policy);
  CompiledTraining training = compile_training(claimed, compile);
  PolicyRow row;
  row.policy = policy;
  row.recompute = std::move(compile.recompute);
  row.plans = std::move(training.recompute);
  row.warnings = std::move(training.warnings);
  row.saved_bytes = training.saved.bytes;
  row.saved_count = training.saved.values.size();
  row.recomputed_percent = training.flops.recomputed_percent();
  std::vector<CompiledTrace> programs;
  programs.push_back(std::move(training.step));
  if (training.accumulate) programs.push_back(std::move(*training.accumulate));
  const CompiledTrace& step = programs[0];
  row.layout = lay_out_engine(programs);
  const MemoryReport memory = report_memory(step);
  row.peak_at = memory.peak;
  row.peak = peak_parts(persistent_parts(step.claimed.trace, training.parameters), row.layout, memory, config);
  if (options.has("svg")) row.curve = svg_curve(policy, row.layout.persistent_bytes, step);
  return row;
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
    text += fmt::format("{:<{}}  {:>10}  {:>6}  {:>9.2f} %  {:>10}  {:>10}\n", row.policy, width, format_bytes(row.saved_bytes),
                        row.saved_count, row.recomputed_percent, format_bytes(row.layout.peak_bytes()),
                        format_bytes(row.layout.transient_bytes));
  }
  return text;
}

std::string composition(const PolicyRow& row) {
  std::string text = fmt::format("peak of {}: {} at {}\n", row.policy, format_bytes(row.layout.peak_bytes()), row.peak_at);
  for (const auto& [kind, bytes] : row.peak) {
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

Json json_row(const PolicyRow& row) {
  Json kinds = Json::object();
  for (const auto& [kind, bytes] : row.peak) kinds.set(kind + "_bytes", bytes);
  Json json = Json::object({{"policy", row.policy},
                            {"saved_for_backward_bytes", row.saved_bytes},
                            {"saved_for_backward_count", static_cast<std::int64_t>(row.saved_count)},
                            {"recomputed_flops_percent", row.recomputed_percent},
                            {"predicted_memory_bytes", row.layout.peak_bytes()},
                            {"persistent_bytes", row.layout.persistent_bytes},
                            {"transient_bytes", row.layout.transient_bytes},
                            {"peak_at", row.peak_at},
                            {"peak", std::move(kinds)}});
  if (!save_list_text(row.recompute).empty()) json.set("save_list", row.recompute.save_list_name);
  return json;
}

void write_pictures(const ResolvedOptions& options, const GptConfig& config, const std::vector<PolicyRow>& rows) {
  std::vector<SvgCurve> curves;
  for (const PolicyRow& row : rows) curves.push_back(row.curve.value());
  const std::string title = fmt::format("{}: {} layers, {} tokens x {}, {}", config.name, config.n_layer, config.block_size,
                                        options.get_int("micro_batch_size"), options.get_text("dtype"));
  write_text_file(options.get_text("svg"), plan_svg(title, curves));
}

}  // namespace

int run_plan(const ResolvedOptions& options) {
  const GptConfig config = model_of(options);
  const CompileOptions compile = compile_options(options);
  const ClaimedTraining claimed = claim_training(trace_training(training_request(options, config), compile), compile);
  std::vector<std::string> policies;
  if (options.has("recompute")) policies.push_back(options.get_text("recompute"));
  else policies.assign(kCompared.begin(), kCompared.end());
  std::vector<PolicyRow> rows;
  for (const std::string& policy : policies) rows.push_back(plan_policy(options, config, claimed, policy));

  std::string text = model_line(config) + table(rows) + save_lists(rows);
  for (const PolicyRow& row : rows) text += "\n" + composition(row);
  for (const PolicyRow& row : rows) {
    for (const std::string& warning : row.warnings) log_warning(warning);
  }
  bool on_output = false;
  for (const std::string_view name : {"json", "svg", "out"}) on_output = on_output || (options.has(name) && options.get_text(name) == "-");
  if (options.has("json")) {
    Json list = Json::array();
    for (const PolicyRow& row : rows) list.push_back(json_row(row));
    write_text_file(
        options.get_text("json"),
        write_json(Json::object({{"schema_version", 1}, {"model_name", config.name}, {"policies", std::move(list)}}), 2) + "\n");
  }
  if (options.has("svg")) write_pictures(options, config, rows);
  if (options.has("out")) write_text_file(options.get_text("out"), plans_text(rows[0].plans));
  if (!on_output) print_output(text);
  return 0;
}

}  // namespace reprise
