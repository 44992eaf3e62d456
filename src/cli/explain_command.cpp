// SPDX-License-Identifier: Apache-2.0
// `reprise explain`: what fills the memory of a step at its peak and what would free it, or where one value comes from, who
// reads it and why it is kept.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/storage.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/standard_streams.h"
#include "cli/training_request.h"
#include "cli/units.h"
#include "compiler/memory_report.h"
#include "executor/engine.h"
#include "ir/region.h"

namespace reprise {
namespace {

constexpr std::size_t kLargest = 20;

struct ExplainedStep {
  CompiledTraining training;
  EngineLayout layout;
};

ClaimedTraining claim_step(const TrainingRequest& request, const CompileOptions& compile) {
  return claim_training(trace_training(request, compile), compile);
}

ExplainedStep compile_step(const ClaimedTraining& claimed, const CompileOptions& compile) {
  ExplainedStep step{compile_training(claimed, compile), {}};
  step.layout = lay_out_engine(std::span(&step.training.step, 1));
  return step;
}

std::string place(const Node& node) {
  return node.module.empty() ? std::string(opcode_name(node.opcode)) : fmt::format("{} @{}", opcode_name(node.opcode), node.module.view());
}

/// The module as far as its block: "transformer.h.3" of "transformer.h.3.mlp.fc".
std::string block_of(std::string_view module) {
  std::size_t end = 0;
  while (end < module.size()) {
    const std::size_t dot = std::min(module.find('.', end), module.size());
    const bool number =
        dot > end && std::all_of(module.begin() + static_cast<std::ptrdiff_t>(end), module.begin() + static_cast<std::ptrdiff_t>(dot),
                                 [](char c) { return c >= '0' && c <= '9'; });
    if (number) return std::string(module.substr(0, dot));
    end = dot + 1;
  }
  return std::string(module);
}

std::string why_alive(const Trace& trace, const std::map<std::string, std::string>& reasons, const LiveValue& value) {
  if (value.kind != "saved") return {};
  const auto reason = reasons.find(value.name);
  if (reason != reasons.end()) return ", kept: " + reason->second;
  return trace.find(value.name).valid() ? ", kept: backward reads it" : "";
}

std::map<std::string, std::string> reasons_of(const RecomputePlan& plan) {
  std::map<std::string, std::string> reasons;
  for (const SavedEntry& entry : plan.saved) {
    reasons.emplace(entry.how == SavedEntry::How::copy ? entry.value + ".saved" : entry.value, entry.why);
  }
  return reasons;
}

std::string list_live(const ExplainedStep& step, const MemoryReport& report) {
  const auto reasons = reasons_of(step.training.recompute[0]);
  std::string text;
  for (std::size_t i = 0; i < std::min(kLargest, report.live.size()); ++i) {
    const LiveValue& value = report.live[i];
    text += fmt::format("  {:>10}  {:<10}  %{} {}", format_bytes(value.bytes), value.kind, value.name, value.type);
    if (!value.made_by.empty()) text += fmt::format("  made by {}", value.made_by);
    text += value.last_read.empty() ? ", stays to the end" : fmt::format(", last read by {}", value.last_read);
    text += why_alive(step.training.step.claimed.trace, reasons, value) + "\n";
  }
  return text;
}

std::string by_block(const MemoryReport& report) {
  std::map<std::string, std::int64_t> sums;
  for (const LiveValue& value : report.live) sums[block_of(value.module)] += value.bytes;
  std::vector<std::pair<std::string, std::int64_t>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kLargest, rows.size()); ++i) {
    text += fmt::format("  {:>10}  {}\n", format_bytes(rows[i].second), rows[i].first.empty() ? "the step itself" : rows[i].first);
  }
  return text;
}

/// The node with most bytes alive outside the block, and the phase, of the peak; nothing when all is one.
std::optional<std::int64_t> second_peak(const CompiledTrace& step, std::int64_t peak) {
  const std::vector<std::int64_t> alive = live_bytes(step);
  const std::vector<Node>& nodes = step.claimed.trace.nodes;
  if (peak < 0 || peak >= static_cast<std::int64_t>(nodes.size())) return std::nullopt;
  const Node& at = nodes[static_cast<std::size_t>(peak)];
  const auto elsewhere = [&](const Node& node) { return block_of(node.module.view()) != block_of(at.module.view()); };
  std::optional<std::int64_t> best;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (elsewhere(nodes[n]) && (!best || alive[n] > alive[static_cast<std::size_t>(*best)])) best = static_cast<std::int64_t>(n);
  }
  return best;
}

struct Switch {
  std::string name;
  std::optional<TrainingRequest> request;  // nothing: only the recompute policy is another
  CompileOptions compile;
};

/// What could be asked for otherwise, one thing at a time.
std::vector<Switch> switches(const ResolvedOptions& options, const GptConfig& config, const CompileOptions& compile) {
  std::vector<Switch> all;
  for (const std::string policy : {"none", "auto", "ops", "full"}) {
    if (policy == options.get_text("recompute")) continue;
    Switch one{"--recompute " + policy, std::nullopt, compile};
    one.compile.recompute = recompute_options(options, config, policy);
    all.push_back(std::move(one));
  }
  const auto with = [&](const std::string& name, std::string_view option, OptionValue value) {
    ResolvedOptions changed = options;
    changed.set(option, std::move(value), OptionSource::command_line, name);
    if (option == "micro_batch_size") {
      changed.set("global_batch_size", options.get_int("global_batch_size"), OptionSource::command_line, name);
    }
    all.push_back({name, training_request(changed, model_of(changed)), compile});
  };
  const std::int64_t batch = options.get_int("micro_batch_size");
  if (batch % 2 == 0) with(fmt::format("--micro_batch_size {}", batch / 2), "micro_batch_size", batch / 2);
  if (options.get_text("dtype") == "float32") with("--dtype bfloat16", "dtype", std::string("bfloat16"));
  // Clipping needs every gradient before the first update.
  if (options.get_number("max_norm") > 0) with("--max_norm 0", "max_norm", 0.0);
  return all;
}

int explain_peak(const ResolvedOptions& options) {
  const GptConfig config = model_of(options);
  const CompileOptions compile = compile_options(options, config);
  const ClaimedTraining claimed = claim_step(training_request(options, config), compile);
  const ExplainedStep step = compile_step(claimed, compile);
  const MemoryReport report = report_memory(step.training.step);
  const auto node_count = step.training.step.claimed.trace.nodes.size();
  for (const std::string& warning : step.training.warnings) log_warning(warning);
  std::string text = fmt::format("peak {}: {} at {}, node {} of {}\n", format_bytes(step.layout.peak_bytes()),
                                 format_bytes(report.live_bytes), report.peak, report.position, node_count);
  text += fmt::format("  {:>10}  parameters and states, beside all that follows\n", format_bytes(step.layout.persistent_bytes));
  for (const auto& [kind, bytes] : report.by_kind()) text += fmt::format("  {:>10}  {}\n", format_bytes(bytes), kind);
  if (const std::string list = save_list_text(compile.recompute); !list.empty()) text += "\n" + list + "\n";
  text += "\nby block\n" + by_block(report);
  text += "\nlargest values\n" + list_live(step, report);
  const std::optional<std::int64_t> second = second_peak(step.training.step, report.position);
  if (second) {
    const MemoryReport other = report_memory_at(step.training.step, *second);
    text += fmt::format("\nhighest elsewhere: {} at {}, node {}\n", format_bytes(other.live_bytes), other.peak, *second);
    for (const auto& [kind, bytes] : other.by_kind()) text += fmt::format("  {:>10}  {}\n", format_bytes(bytes), kind);
  }
  text += fmt::format("\n{:<24}  {:>10}  {:>10}  {}\n", "what would change it", "peak", "transient", "where the peak is then");
  for (const Switch& one : switches(options, config, compile)) {
    const ExplainedStep changed =
        one.request ? compile_step(claim_step(*one.request, one.compile), one.compile) : compile_step(claimed, one.compile);
    text += fmt::format("{:<24}  {:>10}  {:>10}  {}\n", one.name, format_bytes(changed.layout.peak_bytes()),
                        format_bytes(changed.layout.transient_bytes), report_memory(changed.training.step).peak);
  }
  print_output(text);
  return 0;
}

ValueId find_value(const Trace& trace, std::string name) {
  if (name.starts_with('%')) name.erase(0, 1);
  const ValueId value = trace.find(name);
  if (value.valid()) return value;
  std::vector<std::string_view> names;
  for (const Value& one : trace.values) names.push_back(one.name);
  throw UserError(
      fmt::format("the step has no value %{}{}; reprise trace MODEL --stage recomputed lists them", name, nearest_hint(name, names)));
}

std::string lines_of_plan(const RecomputePlan& plan, const std::string& name) {
  std::string text;
  for (const SavedEntry& entry : plan.saved) {
    if (entry.value == name) text += fmt::format("  kept from forward to backward: {}\n", entry.why);
  }
  for (const CopyEntry& entry : plan.copies) {
    if (entry.value == name || entry.name == name) {
      text += fmt::format("  %{} made again as %{} right before %{}: {}\n", entry.value, entry.name, entry.before, entry.why);
    }
  }
  return text;
}

int explain_value(const ResolvedOptions& options) {
  const GptConfig config = model_of(options);
  const CompileOptions compile = compile_options(options, config);
  const ExplainedStep step = compile_step(claim_step(training_request(options, config), compile), compile);
  const Trace& trace = step.training.step.claimed.trace;
  const ValueId value = find_value(trace, options.get_text("value"));
  const StorageMap storage(trace);
  const ValueId owner = storage.owner(value);
  std::string text = fmt::format("%{} {}, {} bytes\n", trace[value].name, trace.type(value).str(), trace.type(value).bytes());
  const NodeId producer = trace[value].producer;
  if (producer.valid()) {
    const Node& node = trace[producer];
    text += fmt::format("  made by {} in {}, node {} of {}\n", place(node), phase_name(node.phase), producer.index(), trace.nodes.size());
    if (!node.region.empty()) text += fmt::format("  in checkpoint region {}\n", region_names(node.region.view()));
    if (!node.source.file.empty()) text += fmt::format("  written at {}:{}\n", node.source.file.view(), node.source.line);
  } else {
    text += fmt::format("  an input of the step: {}\n", role_name(trace.inputs[trace[value].output].role));
  }
  if (owner != value) {
    text += fmt::format("  a view of %{} {}, {} bytes\n", trace[owner].name, trace.type(owner).str(), trace.type(owner).bytes());
  }
  for (const Tag& tag : trace[value].tags) text += fmt::format("  tagged {} by {}\n", tag_name(tag.kind), tag.source.view());
  const std::vector<std::vector<NodeId>> readers = value_readers(trace);
  for (const NodeId reader : readers[value.index()]) {
    const Node& node = trace[reader];
    text += fmt::format("  read by {} in {}, node {}{}\n", place(node), phase_name(node.phase), reader.index(),
                        storage.shares(node) ? ", a view" : "");
  }
  for (const Lifetime& life : storage_lifetimes(trace, storage)) {
    if (life.owner != owner) continue;
    const std::string from = life.first < 0 ? "the start" : fmt::format("node {}", life.first);
    const std::string to = life.last < static_cast<std::int64_t>(trace.nodes.size()) ? fmt::format("node {}", life.last) : "the end";
    text += fmt::format("  its storage is in use from {} to {}\n", from, to);
  }
  text += lines_of_plan(step.training.recompute[0], trace[value].name);
  print_output(text);
  return 0;
}

}  // namespace

int run_explain(const ResolvedOptions& options) { return options.has("value") ? explain_value(options) : explain_peak(options); }

}  // namespace reprise
