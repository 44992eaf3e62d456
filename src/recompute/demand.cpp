// SPDX-License-Identifier: Apache-2.0
#include "recompute/demand.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace reprise {
namespace {

class Demand {
 public:
  Demand(const ForwardFlow& flow, const Wishes& wishes, const RecomputeOptions& options, RecomputePlan& plan)
      : flow_(flow), trace_(flow.trace()), wishes_(wishes), options_(options), plan_(plan) {
    kept_.resize(trace_.values.size(), false);
    copied_.resize(trace_.values.size(), false);
    again_.resize(trace_.nodes.size(), false);
  }

  void run() {
    if (!options_.early_stop) collect_replays();
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      const Node& node = trace_.nodes[n];
      if (flow_.is_forward(node) || node.outputs.empty()) continue;
      for (const ValueId input : node.inputs) require(input);
      settle(node);
    }
    if (options_.compat_eager) hold_listed();
    list_saved();
  }

 private:
  void collect_replays() {
    plan_.replays_whole = true;
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      if (wishes_.replays[n]) replayed_[wishes_.replay_region[n].str()].push_back(n);
    }
  }

  /// Sees to it that a forward value can be read in backward.
  void require(ValueId value) {
    if (!flow_.is_forward(value)) return;
    if (wishes_.copied_views[value.index()]) {
      copied_[value.index()] = true;
      return;
    }
    if (wishes_.remade_views[value.index()]) return run_again(trace_[value].producer.index());
    const ValueId owner = flow_.owner(value);
    if (!flow_.is_forward(owner)) return;
    if (wishes_.of[owner.index()].kind == Wish::Kind::keep) {
      kept_[owner.index()] = true;
      return;
    }
    run_again(trace_[value].producer.index());
  }

  void run_again(std::size_t n) {
    if (again_[n]) return;
    again_[n] = true;
    pending_.push_back(n);
    open_.push_back(n);
  }

  /// Everything that is pending, and all that it reads, goes in before `anchor`, in order of the forward pass.
  void settle(const Node& anchor) {
    while (!open_.empty()) {
      const std::size_t n = open_.back();
      open_.pop_back();
      replay(n);
      for (const ValueId input : trace_.nodes[n].inputs) require(input);
    }
    if (pending_.empty()) return;
    std::sort(pending_.begin(), pending_.end());
    const std::string& before = trace_[anchor.outputs[0]].name;
    for (const std::size_t n : pending_) {
      const Node& node = trace_.nodes[n];
      const ValueId made = node.outputs[0];
      plan_.copies.push_back({trace_[made].name + copy_suffix(1), trace_[made].name, before, wishes_.of[flow_.owner(made).index()].why.str()});
    }
    pending_.clear();
  }

  /// Without early stop: when a node of a region runs again, all of them do.
  void replay(std::size_t n) {
    if (options_.early_stop || wishes_.replay_region[n].empty()) return;
    const auto found = replayed_.find(wishes_.replay_region[n].str());
    if (found == replayed_.end()) return;
    const std::vector<std::size_t> nodes = std::move(found->second);
    replayed_.erase(found);
    for (const std::size_t node : nodes) run_again(node);
  }

  /// What lists name and no one reads stays until its region runs again, or until backward ends.
  void hold_listed() {
    std::map<std::string, std::string> first_anchor;
    std::unordered_map<std::string, std::size_t> node_of;
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      if (!trace_.nodes[n].outputs.empty()) node_of.emplace(trace_[trace_.nodes[n].outputs[0]].name, n);
    }
    for (const CopyEntry& copy : plan_.copies) {
      const Interned region = wishes_.replay_region[node_of.at(copy.value)];
      if (!region.empty()) first_anchor.emplace(region.str(), copy.before);
    }
    std::string last;
    for (const Node& node : trace_.nodes) {
      if (node.phase == Phase::backward && !node.outputs.empty() && !flow_.is_view(node)) last = trace_[node.outputs[0]].name;
    }
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      if (!wishes_.listed[n] || last.empty()) continue;
      const ValueId made = trace_.nodes[n].outputs[0];
      if (kept_[made.index()] || again_[n] || flow_.is_output(made)) continue;
      const auto anchor = first_anchor.find(wishes_.replay_region[n].str());
      held_[made.index()] = anchor == first_anchor.end() ? last : anchor->second;
    }
  }

  void list_saved() {
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      const std::string& name = trace_.values[i].name;
      const std::string why = wishes_.of[flow_.owner(ValueId(i)).index()].why.str();
      if (wishes_.copied_views[i] && copied_[i]) plan_.saved.push_back({SavedEntry::How::copy, name, {}, "smaller than the storage it is part of"});
      if (kept_[i]) plan_.saved.push_back({SavedEntry::How::keep, name, {}, why});
      if (const auto held = held_.find(i); held != held_.end()) plan_.saved.push_back({SavedEntry::How::hold, name, held->second, why});
    }
  }

  const ForwardFlow& flow_;
  const Trace& trace_;
  const Wishes& wishes_;
  const RecomputeOptions& options_;
  RecomputePlan& plan_;
  std::vector<bool> kept_;               // by value: its storage is kept
  std::vector<bool> copied_;             // by value: a dense copy is kept
  std::vector<bool> again_;              // by node
  std::vector<std::size_t> pending_;     // nodes to run again before the next anchor
  std::vector<std::size_t> open_;        // of them: inputs not yet seen to
  std::unordered_map<std::string, std::vector<std::size_t>> replayed_;
  std::map<std::size_t, std::string> held_;  // by value: until when
};

}  // namespace

void meet_demand(const ForwardFlow& flow, const Wishes& wishes, const RecomputeOptions& options, RecomputePlan& plan) {
  Demand(flow, wishes, options, plan).run();
}

}  // namespace reprise
