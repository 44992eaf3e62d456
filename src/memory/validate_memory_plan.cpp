// SPDX-License-Identifier: Apache-2.0
// Checks a memory plan by walking the trace with its own book of who lies where. Shares no code with the solver.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/storage.h"
#include "base/error.h"
#include "ir/name_table.h"
#include "memory/memory_plan.h"

namespace reprise {
namespace {

[[noreturn]] void reject(const std::string& what) { throw InternalError("the memory plan is wrong: " + what); }

/// One placed storage with the life that the trace gives it, found here anew.
struct Resident {
  const StoragePlan* plan = nullptr;
  ValueId value;
  std::int64_t written = -1;
  std::int64_t last_read = -1;
};

class Validator {
 public:
  Validator(const ClaimedTrace& claimed, const MemoryPlan& plan)
      : claimed_(claimed), trace_(claimed.trace), plan_(plan), storage_(trace_), end_(static_cast<std::int64_t>(trace_.nodes.size())) {}

  void check() {
    match_storages();
    match_workspaces();
    follow_trace();
    for (const Resident& one : residents_) check_place(one);
    check_overlaps();
    check_slots();
    check_totals();
  }

 private:
  const std::string& name(ValueId value) const { return trace_[value].name; }

  void match_storages() {
    resident_of_.assign(trace_.values.size(), kNone);
    NameTable by_name;
    by_name.reserve(trace_.values.size());
    for (std::size_t i = 0; i < trace_.values.size(); ++i) by_name.insert(trace_.values[i].name, static_cast<std::uint32_t>(i));
    for (const StoragePlan& storage : plan_.storages) {
      const auto found = by_name.find(storage.value);
      if (!found) reject(fmt::format("{} is no value of the trace", storage.value));
      const ValueId value(*found);
      if (!storage_.owns(value)) reject(fmt::format("{} is a view and has no storage", storage.value));
      if (resident_of_[value.index()] != kNone) reject(fmt::format("{} is placed twice", storage.value));
      if (storage.bytes != trace_.type(value).bytes()) reject(fmt::format("{} has other bytes than its type", storage.value));
      resident_of_[value.index()] = residents_.size();
      residents_.push_back({&storage, value, -1, -1});
    }
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      if (storage_.owns(ValueId(i)) && resident_of_[i] == kNone) reject(fmt::format("{} has no place", name(ValueId(i))));
    }
  }

  Resident& resident(ValueId value) { return residents_[resident_of_[storage_.owner(value).index()]]; }

  void follow_trace() {
    for (std::int64_t n = 0; n < end_; ++n) {
      const Node& node = trace_.nodes[static_cast<std::size_t>(n)];
      if (storage_.shares(node)) continue;
      for (const ValueId input : node.inputs) resident(input).last_read = n;
      for (const ValueId output : node.outputs) {
        resident(output).written = n;
        resident(output).last_read = n;
      }
    }
    for (const ValueId output : trace_.outputs) resident(output).last_read = end_;
  }

  void check_place(const Resident& one) const {
    const StoragePlan& at = *one.plan;
    if (!at.slot.empty()) return;
    if (at.offset < 0 || at.offset % 64 != 0) reject(fmt::format("{} is not aligned", at.value));
    if (at.bytes > 0 && at.offset + at.bytes > plan_.transient_bytes) reject(fmt::format("{} lies beyond the region", at.value));
  }

  /// Whether `later` may be written onto `earlier` by the node that writes it: it is the last reader, and its claim allows it.
  bool may_take_over(const Resident& earlier, const Resident& later) const {
    if (later.written < 0 || earlier.last_read != later.written || later.plan->onto != earlier.plan->value) return false;
    if (earlier.plan->bytes != later.plan->bytes || earlier.plan->offset != later.plan->offset) return false;
    const Node& node = trace_.nodes[static_cast<std::size_t>(later.written)];
    const Claim& claim = claimed_.claims[static_cast<std::size_t>(later.written)];
    const std::uint32_t output = trace_[later.value].output;
    bool reads = false;
    for (std::uint32_t k = 0; k < node.inputs.size(); ++k) {
      const Place& place = storage_[node.inputs[k]];
      if (place.owner != earlier.value) continue;
      reads = true;
      const TensorType& type = trace_.type(node.inputs[k]);
      if (type.bytes() != earlier.plan->bytes || place.layout.offset != 0) return false;
      if (!layout_satisfies(InputLayout::dense, type.shape, place.layout.strides)) return false;
      const auto allowed = [&](const InPlacePair& pair) { return pair.input == k && pair.output == output; };
      if (std::none_of(claim.in_place.begin(), claim.in_place.end(), allowed)) return false;
    }
    return reads;
  }

  /// Walks over the nodes with what is alive by offset: a storage that begins may lie on nothing but what it takes over,
  /// a workspace on nothing at all.
  void check_overlaps() {
    std::vector<const Resident*> transient;
    for (const Resident& one : residents_) {
      if (one.plan->slot.empty() && one.plan->bytes > 0) transient.push_back(&one);
    }
    const auto in_order_of = [&](std::int64_t Resident::*position) {
      std::vector<const Resident*> order = transient;
      std::stable_sort(order.begin(), order.end(), [&](const Resident* a, const Resident* b) { return a->*position < b->*position; });
      return order;
    };
    const std::vector<const Resident*> by_birth = in_order_of(&Resident::written);
    const std::vector<const Resident*> by_death = in_order_of(&Resident::last_read);
    auto born = by_birth.begin();
    auto dead = by_death.begin();
    auto workspace = workspaces_.begin();
    for (std::int64_t n = -1; n <= end_; ++n) {
      for (; born != by_birth.end() && (*born)->written == n; ++born) begin(**born);
      if (workspace != workspaces_.end() && workspace->first == n) check_workspace(*(workspace++)->second);
      for (; dead != by_death.end() && (*dead)->last_read == n; ++dead) {
        if (const auto found = live_.find((*dead)->plan->offset); found != live_.end() && found->second == *dead) live_.erase(found);
      }
    }
  }

  /// The first of what is alive that reaches into the bytes from `offset` on; it may also begin behind them.
  std::map<std::int64_t, const Resident*>::iterator first_beyond(std::int64_t offset) {
    auto found = live_.upper_bound(offset);
    if (found == live_.begin()) return found;
    const auto before = std::prev(found);
    return before->first + before->second->plan->bytes > offset ? before : found;
  }

  void begin(const Resident& one) {
    const std::int64_t end = one.plan->offset + one.plan->bytes;
    for (auto at = first_beyond(one.plan->offset); at != live_.end() && at->first < end; at = live_.erase(at)) {
      if (may_take_over(*at->second, one)) continue;
      reject(fmt::format("{} and {} overlap while both are alive", at->second->plan->value, one.plan->value));
    }
    live_.emplace(one.plan->offset, &one);
  }

  void check_workspace(const WorkspacePlan& workspace) {
    const auto at = first_beyond(workspace.offset);
    if (at == live_.end() || at->first >= workspace.offset + workspace.bytes) return;
    reject(fmt::format("the workspace of node {} overlaps {}", workspace.node, at->second->plan->value));
  }

  void check_slots() {
    std::unordered_map<std::string_view, const TraceInput*> persistent;
    for (const TraceInput& input : trace_.inputs) {
      if (input.role != Role::param && input.role != Role::state) continue;
      persistent.emplace(name(input.value), &input);
      if (resident(input.value).plan->slot != name(input.value)) reject(fmt::format("{} is not in its slot", name(input.value)));
    }
    std::unordered_map<std::string_view, std::string_view> donated;  // output -> input
    for (const Donation& donation : trace_.donations) {
      const TraceInput& input = trace_.inputs[donation.input];
      const ValueId output = trace_.outputs[donation.output];
      if ((input.role != Role::param && input.role != Role::state) || output == input.value) continue;
      if (!donated.emplace(name(output), name(input.value)).second) reject(fmt::format("{} is given two slots", name(output)));
      if (resident(output).plan->slot != name(input.value)) reject(fmt::format("{} is not where {} lay", name(output), name(input.value)));
    }
    for (const Resident& one : residents_) {
      const std::string& slot = one.plan->slot;
      if (slot.empty() || slot == one.plan->value) {
        if (!slot.empty() && !persistent.contains(slot)) reject(fmt::format("{} has no slot of its own", slot));
        continue;
      }
      const auto found = donated.find(one.plan->value);
      if (found == donated.end() || found->second != slot) reject(fmt::format("{} lies in the slot of {}", one.plan->value, slot));
      const Resident& before = resident(persistent.at(slot)->value);
      if (before.plan->bytes != one.plan->bytes) reject(fmt::format("{} does not fit the slot of {}", one.plan->value, slot));
      if (before.last_read >= one.written && !may_take_over(before, one)) {
        reject(fmt::format("{} overwrites {} before its last reader", one.plan->value, slot));
      }
    }
  }

  void match_workspaces() {
    for (const WorkspacePlan& workspace : plan_.workspaces) {
      if (workspace.node >= trace_.nodes.size() || !workspaces_.emplace(workspace.node, &workspace).second) reject("a workspace of no node");
      if (workspace.offset < 0 || workspace.offset % 64 != 0) reject(fmt::format("the workspace of node {} is not aligned", workspace.node));
      if (workspace.offset + workspace.bytes > plan_.transient_bytes) reject(fmt::format("the workspace of node {} lies beyond the region", workspace.node));
    }
    for (std::size_t n = 0; n < claimed_.claims.size(); ++n) {
      const std::int64_t wanted = claimed_.claims[n].workspace_bytes;
      const auto found = workspaces_.find(static_cast<std::int64_t>(n));
      if (wanted != (found == workspaces_.end() ? 0 : found->second->bytes)) reject(fmt::format("the workspace of node {} has the wrong size", n));
    }
  }

  void check_totals() const {
    std::int64_t top = 0;
    for (const Resident& one : residents_) {
      if (one.plan->slot.empty() && one.plan->bytes > 0) top = std::max(top, one.plan->offset + one.plan->bytes);
    }
    for (const WorkspacePlan& workspace : plan_.workspaces) top = std::max(top, workspace.offset + workspace.bytes);
    if (top != plan_.transient_bytes) reject(fmt::format("the region ends at {}, not at {}", top, plan_.transient_bytes));
    std::int64_t library = 0;
    for (const Claim& claim : claimed_.claims) library = std::max(library, claim.library_bytes);
    if (library != plan_.library_bytes) reject(fmt::format("a library takes {} bytes, not {}", library, plan_.library_bytes));
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const ClaimedTrace& claimed_;
  const Trace& trace_;
  const MemoryPlan& plan_;
  StorageMap storage_;
  std::int64_t end_;
  std::vector<Resident> residents_;
  std::vector<std::size_t> resident_of_;  // by value
  std::map<std::int64_t, const WorkspacePlan*> workspaces_;  // by node
  std::map<std::int64_t, const Resident*> live_;  // by offset: what is alive at the node that check_overlaps is at
};

}  // namespace

void validate_memory_plan(const ClaimedTrace& claimed, const MemoryPlan& plan) { Validator(claimed, plan).check(); }

}  // namespace reprise
