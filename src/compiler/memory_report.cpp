// SPDX-License-Identifier: Apache-2.0
#include "compiler/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/storage.h"

namespace reprise {
namespace {

std::string describe(const Node& node) {
  return node.module.empty() ? std::string(opcode_name(node.opcode)) : fmt::format("{} @{}", opcode_name(node.opcode), node.module.view());
}

/// What a storage is to the step.
std::string kind_of(const Trace& trace, const Lifetime& life) {
  const NodeId producer = trace[life.owner].producer;
  if (!producer.valid()) return "input";
  if (life.last == static_cast<std::int64_t>(trace.nodes.size())) return "output";
  const Phase made = trace[producer].phase;
  const Phase read = trace.nodes[static_cast<std::size_t>(life.last)].phase;
  if (made == Phase::forward) return read == Phase::forward ? "activation" : "saved";
  return read == Phase::update ? "gradient" : "activation";
}

}  // namespace

MemoryReport report_memory(const CompiledTrace& compiled) {
  const Trace& trace = compiled.claimed.trace;
  const StorageMap storage(trace);
  std::map<std::string_view, const StoragePlan*> planned;
  for (const StoragePlan& plan : compiled.plan.storages) planned.emplace(plan.value, &plan);
  const auto end = static_cast<std::int64_t>(trace.nodes.size());

  std::vector<Lifetime> transient;
  std::vector<std::int64_t> change(trace.nodes.size() + 3, 0);  // positions -1 .. end, and one behind
  for (const Lifetime& life : storage_lifetimes(trace, storage)) {
    const StoragePlan& plan = *planned.at(trace[life.owner].name);
    if (!plan.slot.empty() || life.bytes == 0) continue;
    transient.push_back(life);
    // A storage taken over counts once: its taker is alive from the same node on.
    change[static_cast<std::size_t>(life.first + (plan.onto.empty() ? 1 : 2))] += life.bytes;
    change[static_cast<std::size_t>(life.last + 2)] -= life.bytes;
  }
  for (const WorkspacePlan& plan : compiled.plan.workspaces) {
    change[plan.node + 1] += plan.bytes;
    change[plan.node + 2] -= plan.bytes;
  }
  MemoryReport report;
  report.transient_bytes = compiled.plan.transient_bytes;
  std::int64_t position = -1;
  std::int64_t live = 0;
  for (std::int64_t i = -1; i <= end; ++i) {
    live += change[static_cast<std::size_t>(i + 1)];
    if (live > report.live_bytes) {
      report.live_bytes = live;
      position = i;
    }
  }
  const bool inside = position >= 0 && position < end;
  report.peak = inside ? describe(trace.nodes[static_cast<std::size_t>(position)]) : (position < 0 ? "the start" : "the end");
  for (const Lifetime& life : transient) {
    const StoragePlan& plan = *planned.at(trace[life.owner].name);
    const bool begun = life.first < position || (life.first == position && plan.onto.empty());
    if (!begun || life.last < position) continue;
    const Value& value = trace[life.owner];
    LiveValue one{value.name, value.type.str(), life.bytes, kind_of(trace, life), {}, {}};
    if (value.producer.valid()) one.made_by = describe(trace[value.producer]);
    if (life.last >= 0 && life.last < end) one.last_read = describe(trace.nodes[static_cast<std::size_t>(life.last)]);
    report.live.push_back(std::move(one));
  }
  for (const WorkspacePlan& plan : compiled.plan.workspaces) {
    if (plan.node == position) report.live.push_back({"workspace", "", plan.bytes, "workspace", report.peak, report.peak});
  }
  std::stable_sort(report.live.begin(), report.live.end(), [](const LiveValue& a, const LiveValue& b) { return a.bytes > b.bytes; });
  return report;
}

std::string MemoryReport::str(std::size_t count) const {
  std::string text = fmt::format("transient peak {} bytes at {}; {} bytes alive\n", transient_bytes, peak, live_bytes);
  std::map<std::string, std::int64_t> by_kind;
  for (const LiveValue& value : live) by_kind[value.kind] += value.bytes;
  for (const auto& [kind, bytes] : by_kind) text += fmt::format("  {:<10} {:>14}\n", kind, bytes);
  for (std::size_t i = 0; i < std::min(count, live.size()); ++i) {
    const LiveValue& value = live[i];
    text += fmt::format("{:>14}  {:<10} %{} {}", value.bytes, value.kind, value.name, value.type);
    if (!value.made_by.empty()) text += fmt::format("  made by {}", value.made_by);
    text += value.last_read.empty() ? "  stays to the end\n" : fmt::format("  last read by {}\n", value.last_read);
  }
  return text;
}

}  // namespace reprise
