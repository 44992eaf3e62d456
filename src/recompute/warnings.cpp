// SPDX-License-Identifier: Apache-2.0
#include "recompute/warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/storage.h"
#include "ir/explicit_tag.h"
#include "ir/region.h"

namespace reprise {
namespace {

using Kind = PolicySpec::Kind;

/// Of several things of one kind the first is named.
std::string and_more(std::size_t count) { return count < 2 ? std::string() : fmt::format(" (and {} more)", count - 1); }

class Warner {
 public:
  Warner(const Trace& trace, const RecomputeOptions& options, const RecomputePlan& plan)
      : trace_(trace), options_(options), policy_(options.policy), plan_(plan) {}

  std::vector<std::string> run() {
    read_regions();
    read_tags();
    for (std::size_t i = 0; i < trace_.values.size(); ++i) by_name_.emplace(trace_.values[i].name, ValueId(i));
    without_effect();
    unused_list_entries();
    unused_entries_of_regions();
    idle_regions();
    idle_tags();
    slow_copies();
    return std::move(warnings_);
  }

  /// Those about `none` alone.
  std::vector<std::string> run_none() {
    read_regions();
    read_tags();
    passed_over();
    return std::move(warnings_);
  }

 private:
  template <class... Parts>
  void warn(fmt::format_string<Parts...> text, Parts&&... parts) {
    warnings_.push_back(fmt::format(text, std::forward<Parts>(parts)...));
  }

  struct OwnPolicy {
    std::string path;  // with policies
    std::string names;
    std::string policy;
  };

  /// Blocks, what runs in them, and regions with policies of their own that ask for something.
  void read_regions() {
    std::set<std::string> seen;
    for (const Node& node : trace_.nodes) {
      if (node.phase != Phase::forward || node.region.empty()) continue;
      in_blocks_.insert(node.opcode.index);
      const std::string region = node.region.str();
      runs_in_[region].insert(node.opcode.index);
      if (!seen.insert(region).second) continue;
      const std::vector<RegionSegment> segments = split_region(region);
      if (seen_blocks_.insert(std::string(segments[0].path)).second) blocks_.push_back(region_names(segments[0].path));
      for (const RegionSegment& segment : segments) {
        if (!segment.policy || segment.policy->kind == RegionPolicy::Kind::none) continue;
        const bool as_step = segment.policy->kind == RegionPolicy::Kind::step;
        if (as_step && policy_.kind != Kind::tags) continue;
        std::string path(segment.path);
        if (!seen_own_.insert(path).second) continue;
        own_.push_back({std::move(path), region_names(segment.path), as_step ? "a checkpoint" : segment.policy->str()});
      }
    }
  }

  struct Asked {
    ValueId value;
    Tag tag;
  };

  void read_tags() {
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      for (const Tag& tag : trace_.values[i].tags) {
        if (is_explicit(tag)) tags_.push_back({ValueId(i), tag});
      }
    }
  }

  void passed_over() {
    if (!own_.empty()) {
      warn("recompute none passes over the policies of regions in the model's code: {} is {}{}; recompute tags follows them",
           own_[0].names, own_[0].policy, and_more(own_.size()));
    }
    if (!tags_.empty()) {
      warn("recompute none passes over tags in the model's code: %{} is {}{}; recompute tags follows them", trace_[tags_[0].value].name,
           tag_name(tags_[0].tag.kind), and_more(tags_.size()));
    }
  }

  void without_effect() {
    const std::string name = policy_.str();
    if (policy_.kind == Kind::tags) {
      if (own_.empty() && tags_.empty()) {
        warn("recompute {} has no effect: the model's code has no tags and no regions with policies; recompute auto or full needs none",
             name);
      }
      return;
    }
    if (policy_.kind == Kind::automatic || policy_.kind == Kind::file) return;
    if (blocks_.empty()) {
      warn("recompute {} has no effect: the model has no checkpoint regions; put its layers into checkpoint(...), or choose auto", name);
    } else if (plan_.copies.empty()) {
      warn("recompute {} has no effect: backward reads nothing that it would make again; recompute none is the same", name);
    } else if (policy_.kind == Kind::layers && static_cast<std::size_t>(policy_.every) > blocks_.size()) {
      warn("recompute {} acts on {} alone: the model has {} block{}; choose a smaller N", name, blocks_[0], blocks_.size(),
           blocks_.size() == 1 ? "" : "s");
    }
  }

  /// Of a list: what it names, not as a part of the default list, and is not among the ops that run.
  static std::vector<std::string> idle_entries(const SaveList& list, const std::set<std::uint16_t>& running) {
    const SaveList usual = list.takes_default() ? default_save_list() : SaveList();
    std::vector<std::string> idle;
    for (const Opcode opcode : list.ops()) {
      if (!running.contains(opcode.index) && !usual.contains(opcode)) idle.emplace_back(opcode_name(opcode));
    }
    return idle;
  }

  void unused_list_entries() {
    if (policy_.kind != Kind::ops || policy_.path.empty() || blocks_.empty()) return;
    const std::vector<Opcode>& ops = options_.save_list.ops();
    const std::vector<std::string> idle = idle_entries(options_.save_list, in_blocks_);
    const bool any = std::any_of(ops.begin(), ops.end(), [&](Opcode opcode) { return in_blocks_.contains(opcode.index); });
    if (ops.empty()) {
      warn("recompute {} is recompute full: the list is empty; name ops in it, or default", policy_.str());
    } else if (!any) {
      warn("recompute {} is recompute full: no block runs an op of the list; reprise trace MODEL --stage claimed shows which there are",
           policy_.str());
    } else if (!idle.empty()) {
      warn("the save list {} names {}, which no block runs; reprise trace MODEL --stage claimed shows which there are", policy_.path,
           fmt::join(idle, ", "));
    }
  }

  /// The same of the lists that regions bring.
  void unused_entries_of_regions() {
    struct Listed {
      std::string names;
      SaveList list;
      std::set<std::uint16_t> running;
    };
    std::map<std::string, Listed> listed;  // by path
    for (const auto& [region, running] : runs_in_) {
      for (const RegionSegment& segment : split_region(region)) {
        if (!segment.policy || segment.policy->kind != RegionPolicy::Kind::ops || segment.policy->names.empty()) continue;
        const auto [found, fresh] = listed.try_emplace(std::string(segment.path));
        if (fresh) found->second = {region_names(segment.path), save_list_of(segment.policy->names, segment.path), {}};
        found->second.running.insert(running.begin(), running.end());
      }
    }
    std::vector<std::string> idle;
    for (const auto& [path, one] : listed) {
      const std::vector<std::string> names = idle_entries(one.list, one.running);
      if (!names.empty()) idle.push_back(fmt::format("the save list of region {} names {}, which nothing in it runs", one.names, fmt::join(names, ", ")));
    }
    if (!idle.empty()) warn("{}{}; name ops that reprise trace shows at stage claimed", idle[0], and_more(idle.size()));
  }

  void idle_regions() {
    if (own_.empty()) return;
    std::set<std::string_view> active;
    std::set<std::string> seen;
    for (const CopyEntry& copy : plan_.copies) {
      const auto [region, fresh] = seen.insert(producer(copy.value).region.str());
      if (!fresh) continue;
      for (const RegionSegment& segment : split_region(*region)) active.insert(segment.path);
    }
    std::vector<const OwnPolicy*> idle;
    for (const OwnPolicy& own : own_) {
      if (!active.contains(own.path)) idle.push_back(&own);
    }
    if (idle.empty()) return;
    warn("region {} is {}, with no effect{}: backward reads nothing in it that it would make again; leave that out",
         idle[0]->names, idle[0]->policy, and_more(idle.size()));
  }

  const Node& producer(const std::string& value) const { return trace_[trace_[by_name_.at(value)].producer]; }

  /// Tags that must be met, on values that backward does not ask for. A wish may have lost to a stronger one.
  void idle_tags() {
    if (tags_.empty()) return;
    const StorageMap storage(trace_);
    std::unordered_set<std::string_view> saved;
    std::unordered_set<const Node*> again;
    std::vector<bool> is_output(trace_.values.size(), false);
    for (const ValueId output : trace_.outputs) is_output[storage.owner(output).index()] = true;
    for (const SavedEntry& entry : plan_.saved) saved.insert(entry.value);
    for (const CopyEntry& copy : plan_.copies) again.insert(&producer(copy.value));
    std::vector<const Asked*> idle;
    for (const Asked& asked : tags_) {
      const ValueId owner = storage.owner(asked.value);
      const NodeId made = trace_[owner].producer;
      if (!made.valid() || trace_[made].phase != Phase::forward) continue;
      const bool is_saved = is_output[owner.index()] || saved.contains(trace_[owner].name) || saved.contains(trace_[asked.value].name);
      const bool in_vain = asked.tag.kind == TagKind::must_save ? !is_saved
                           : asked.tag.kind == TagKind::must_recompute && !again.contains(&trace_[made]);
      if (in_vain) idle.push_back(&asked);
    }
    if (idle.empty()) return;
    const Asked& first = *idle[0];
    warn("%{} is {} by {}, with no effect{}: backward does not read it; tag what backward reads", trace_[first.value].name,
         tag_name(first.tag.kind), first.tag.source.view(), and_more(idle.size()));
  }

  /// Nodes that only the reference executor takes are slow; it is of no use to say so where it takes all.
  void slow_copies() {
    const Interned reference("reference");
    const Interned view("view");
    const auto is_fast = [&](const Node& node) { return node.executor != reference && node.executor != view; };
    if (std::none_of(trace_.nodes.begin(), trace_.nodes.end(), is_fast)) return;
    std::map<std::string_view, std::size_t> slow;
    for (const CopyEntry& copy : plan_.copies) {
      const Node& node = producer(copy.value);
      if (node.executor == reference) ++slow[opcode_name(node.opcode)];
    }
    for (const auto& [op, count] : slow) {
      warn("recompute {} runs {} again {} times on the reference executor, which is slow; keep its results, by a tag or by ops:FILE "
           "with {} on the list",
           policy_.str(), op, count, op);
    }
  }

  const Trace& trace_;
  const RecomputeOptions& options_;
  const PolicySpec& policy_;
  const RecomputePlan& plan_;
  std::vector<std::string> warnings_;
  std::vector<std::string> blocks_;  // names of outermost regions
  std::set<std::string> seen_blocks_;
  std::set<std::uint16_t> in_blocks_;  // opcodes that run in them
  std::map<std::string, std::set<std::uint16_t>> runs_in_;  // by region, those of its own nodes
  std::vector<OwnPolicy> own_;
  std::set<std::string> seen_own_;
  std::vector<Asked> tags_;  // of the user
  std::unordered_map<std::string_view, ValueId> by_name_;
};

/// Paths of the regions of forward nodes, outer ones included.
std::set<std::string> region_paths(const Trace& trace) {
  std::set<std::string> regions;
  std::set<std::string> paths;
  for (const Node& node : trace.nodes) {
    if (!regions.insert(node.region.str()).second) continue;
    for (const RegionSegment& segment : split_region(node.region.view())) paths.emplace(segment.path);
  }
  return paths;
}

}  // namespace

std::vector<std::string> lost_wish_warnings(const Trace& written, const Trace& pure) {
  std::vector<std::string> warnings;
  std::vector<std::string> regions;
  const std::set<std::string> left = region_paths(pure);
  for (const std::string& path : region_paths(written)) {
    const std::optional<RegionPolicy> policy = split_region(path).back().policy;
    const bool asks = policy && policy->kind != RegionPolicy::Kind::none && policy->kind != RegionPolicy::Kind::step;
    if (asks && !left.contains(path)) regions.push_back(fmt::format("region {} is {}", region_names(path), policy->str()));
  }
  std::vector<std::string> tags;
  for (const Value& value : written.values) {
    const auto asked = std::find_if(value.tags.begin(), value.tags.end(), is_explicit);
    if (asked == value.tags.end() || pure.find(value.name).valid()) continue;
    tags.push_back(fmt::format("%{} is {} by {}", value.name, tag_name(asked->kind), asked->source.view()));
  }
  for (const std::vector<std::string>& lost : {regions, tags}) {
    if (lost.empty()) continue;
    warnings.push_back(fmt::format("{}, with no effect{}: nothing reads what is made there; leave that out", lost[0], and_more(lost.size())));
  }
  return warnings;
}

std::vector<std::string> passed_over_warnings(const Trace& written) { return Warner(written, RecomputeOptions(), RecomputePlan()).run_none(); }

std::vector<std::string> plan_warnings(const Trace& trace, const RecomputeOptions& options, const RecomputePlan& plan) {
  if (options.policy.kind == Kind::none) return {};
  return Warner(trace, options, plan).run();
}

}  // namespace reprise
