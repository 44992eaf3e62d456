// SPDX-License-Identifier: Apache-2.0
#include "compiler/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

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
  if (made == Phase::recompute) return "recomputed";
  return read == Phase::update ? "gradient" : "activation";
}

}  // namespace

namespace {

/// The storages of the transient region, and how the bytes alive change from one position to the next.
class TransientView {
 public:
  explicit TransientView(const CompiledTrace& compiled)
      : compiled_(compiled), trace_(compiled.claimed.trace), end_(static_cast<std::int64_t>(trace_.nodes.size())) {
    const StorageMap storage(trace_);
    planned_.reserve(compiled.plan.storages.size());
    for (const StoragePlan& plan : compiled.plan.storages) planned_.emplace(plan.value, &plan);
    change_.assign(trace_.nodes.size() + 3, 0);  // positions -1 .. end, and one behind
    for (const Lifetime& life : storage_lifetimes(trace_, storage)) {
      const StoragePlan& plan = plan_of(life);
      if (!plan.slot.empty() || life.bytes == 0) continue;
      transient_.push_back(life);
      // A storage taken over counts once: its taker is alive from the same node on.
      change_[static_cast<std::size_t>(life.first + (plan.onto.empty() ? 1 : 2))] += life.bytes;
      change_[static_cast<std::size_t>(life.last + 2)] -= life.bytes;
    }
    for (const WorkspacePlan& plan : compiled.plan.workspaces) {
      change_[plan.node + 1] += plan.bytes;
      change_[plan.node + 2] -= plan.bytes;
    }
  }

  /// Bytes alive at positions -1 .. end.
  std::vector<std::int64_t> alive() const {
    std::vector<std::int64_t> bytes;
    std::int64_t live = 0;
    for (std::int64_t i = -1; i <= end_; ++i) bytes.push_back(live += change_[static_cast<std::size_t>(i + 1)]);
    return bytes;
  }

  MemoryReport report(std::int64_t position) const {
    MemoryReport report;
    report.transient_bytes = compiled_.plan.transient_bytes;
    report.position = position;
    report.live_bytes = alive()[static_cast<std::size_t>(position + 1)];
    const bool inside = position >= 0 && position < end_;
    report.peak = inside ? describe(trace_.nodes[static_cast<std::size_t>(position)]) : (position < 0 ? "the start" : "the end");
    for (const Lifetime& life : transient_) {
      const bool begun = life.first < position || (life.first == position && plan_of(life).onto.empty());
      if (begun && life.last >= position) report.live.push_back(live_value(life));
    }
    for (const WorkspacePlan& plan : compiled_.plan.workspaces) {
      if (plan.node == position) {
        report.live.push_back({"workspace", "", plan.bytes, "workspace", trace_.nodes[plan.node].module.str(), report.peak, report.peak});
      }
    }
    std::stable_sort(report.live.begin(), report.live.end(), [](const LiveValue& a, const LiveValue& b) { return a.bytes > b.bytes; });
    return report;
  }

 private:
  const StoragePlan& plan_of(const Lifetime& life) const { return *planned_.at(trace_[life.owner].name); }

  LiveValue live_value(const Lifetime& life) const {
    const Value& value = trace_[life.owner];
    LiveValue one{value.name, value.type.str(), life.bytes, kind_of(trace_, life), {}, {}, {}};
    if (value.producer.valid()) {
      one.module = trace_[value.producer].module.str();
      one.made_by = describe(trace_[value.producer]);
    }
    if (life.last >= 0 && life.last < end_) one.last_read = describe(trace_.nodes[static_cast<std::size_t>(life.last)]);
    return one;
  }

  const CompiledTrace& compiled_;
  const Trace& trace_;
  std::int64_t end_;
  std::unordered_map<std::string_view, const StoragePlan*> planned_;
  std::vector<Lifetime> transient_;
  std::vector<std::int64_t> change_;
};

}  // namespace

std::vector<std::int64_t> live_bytes(const CompiledTrace& compiled) {
  const std::vector<std::int64_t> alive = TransientView(compiled).alive();
  return {alive.begin() + 1, alive.end() - 1};
}

MemoryReport report_memory_at(const CompiledTrace& compiled, std::int64_t position) { return TransientView(compiled).report(position); }

MemoryReport report_memory(const CompiledTrace& compiled) {
  const TransientView view(compiled);
  const std::vector<std::int64_t> alive = view.alive();
  return view.report(std::max_element(alive.begin(), alive.end()) - alive.begin() - 1);
}

std::vector<std::pair<std::string, std::int64_t>> MemoryReport::by_kind() const {
  std::map<std::string, std::int64_t> sums;
  for (const LiveValue& value : live) sums[value.kind] += value.bytes;
  std::vector<std::pair<std::string, std::int64_t>> kinds(sums.begin(), sums.end());
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return kinds;
}

std::string MemoryReport::str(std::size_t count) const {
  std::string text = fmt::format("transient peak {} bytes at {}; {} bytes alive\n", transient_bytes, peak, live_bytes);
  for (const auto& [kind, bytes] : by_kind()) text += fmt::format("  {:<10} {:>14}\n", kind, bytes);
  for (std::size_t i = 0; i < std::min(count, live.size()); ++i) {
    const LiveValue& value = live[i];
    text += fmt::format("{:>14}  {:<10} %{} {}", value.bytes, value.kind, value.name, value.type);
    if (!value.made_by.empty()) text += fmt::format("  made by {}", value.made_by);
    text += value.last_read.empty() ? "  stays to the end\n" : fmt::format("  last read by {}\n", value.last_read);
  }
  return text;
}

}  // namespace reprise
