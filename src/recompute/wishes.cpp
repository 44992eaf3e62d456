// SPDX-License-Identifier: Apache-2.0
#include "recompute/wishes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "ir/explicit_tag.h"
#include "ir/region.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

using Kind = PolicySpec::Kind;

/// The weight of a matrix product: the parameter that one of its inputs is, or is a view of.
std::optional<ValueId> weight_of(const ForwardFlow& flow, const Node& node) {
  if (node.opcode != op::matmul && node.opcode != op::linear) return std::nullopt;
  for (std::size_t i = node.inputs.size(); i-- > 0;) {
    const ValueId owner = flow.owner(node.inputs[i]);
    const Value& value = flow.trace()[owner];
    if (!value.producer.valid() && flow.trace().inputs[value.output].role == Role::param && value.type.shape.rank() >= 2) return owner;
  }
  return std::nullopt;
}

/// A policy at work in the region whose path ends with `depth` segments.
struct Rule {
  std::size_t depth = 0;
  Interned region;
  RegionPolicy policy;
  std::string why;
};

class Resolver {
 public:
  Resolver(const ForwardFlow& flow, const PolicySpec& policy, const SaveList& save_list)
      : flow_(flow), trace_(flow.trace()), policy_(policy), save_list_(save_list) {}

  Wishes run() {
    result_.of.resize(trace_.values.size());
    result_.copied_views.resize(trace_.values.size(), false);
    result_.remade_views.resize(trace_.values.size(), false);
    result_.replay_region.resize(trace_.nodes.size());
    result_.replays.resize(trace_.nodes.size(), false);
    result_.listed.resize(trace_.nodes.size(), false);
    number_blocks();
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      const Node& node = trace_.nodes[n];
      if (!flow_.is_forward(node) || flow_.is_view(node)) continue;
      const std::vector<Rule>& rules = rules_of(node.region);
      note_replay(n, node, rules);
      for (const ValueId output : node.outputs) result_.of[output.index()] = by_rules(output, node, rules);
    }
    apply_tags();
    check_patterns();
    return std::move(result_);
  }

 private:
  // ---- regions and their rules -------------------------------------------------------------------------------------

  /// Blocks, the outermost regions, numbered as they come; the names of all regions, for patterns.
  void number_blocks() {
    for (const Node& node : trace_.nodes) {
      if (!flow_.is_forward(node) || node.region.empty()) continue;
      const std::vector<RegionSegment>& segments = split(node.region);
      blocks_.emplace(std::string(segments.front().path), blocks_.size());
      for (const RegionSegment& segment : segments) region_paths_.insert(region_names(segment.path));
    }
  }

  const std::vector<RegionSegment>& split(Interned region) {
    auto [found, fresh] = segments_.try_emplace(region.str());
    if (fresh) found->second = split_region(found->first);
    return found->second;
  }

  const std::vector<Rule>& rules_of(Interned region) {
    auto [found, fresh] = rules_.try_emplace(region.str());
    if (!fresh) return found->second;
    const std::vector<RegionSegment>& segments = split(region);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Interned path(segments[i].path);
      const bool as_step = segments[i].policy && segments[i].policy->kind == RegionPolicy::Kind::step;
      if (as_step && policy_.kind == Kind::tags) {
        found->second.push_back(
            {i + 1, path, {RegionPolicy::Kind::full, {}}, fmt::format("region {} is a checkpoint", region_names(segments[i].path))});
      } else if (segments[i].policy && !as_step) {
        found->second.push_back(
            {i + 1, path, *segments[i].policy, fmt::format("region {} is {}", region_names(segments[i].path), segments[i].policy->str())});
      } else if (i == 0) {
        if (std::optional<RegionPolicy> policy = block_policy(region)) {
          found->second.push_back({1, path, std::move(*policy), fmt::format("recompute {}", policy_.str())});
        }
      }
    }
    return found->second;
  }

  /// What the step's policy says of values in `region`, within its block; nothing where it leaves them be.
  std::optional<RegionPolicy> block_policy(Interned region) {
    switch (policy_.kind) {
      case Kind::full: return RegionPolicy{RegionPolicy::Kind::full, {}};
      case Kind::layers:
        if (blocks_.at(std::string(split(region).front().path)) % static_cast<std::size_t>(policy_.every) != 0) return std::nullopt;
        return RegionPolicy{RegionPolicy::Kind::full, {}};
      case Kind::ops: return RegionPolicy{RegionPolicy::Kind::ops, {}};
      case Kind::alternate: return RegionPolicy{RegionPolicy::Kind::alternate, policy_.globs};
      case Kind::regions: return RegionPolicy{named(region) ? RegionPolicy::Kind::none : RegionPolicy::Kind::full, {}};
      case Kind::none:
      case Kind::tags:
      case Kind::automatic:
      case Kind::file: return std::nullopt;
    }
    return std::nullopt;
  }

  /// Whether the region, or one around it, matches a pattern of the policy.
  bool named(Interned region) {
    for (const RegionSegment& segment : split(region)) {
      const std::string names = region_names(segment.path);
      for (const std::string& glob : policy_.globs) {
        if (glob_matches(glob, names)) return true;
      }
    }
    return false;
  }

  // ---- what a rule says --------------------------------------------------------------------------------------------

  bool on_list(const Rule& rule, const Node& node) {
    if (rule.policy.kind == RegionPolicy::Kind::ops && !rule.policy.names.empty()) {
      auto [found, fresh] = lists_.try_emplace(rule.region.str());
      if (fresh) {
        found->second = save_list_of(rule.policy.names, fmt::format("the save list of region {}", region_names(rule.region.view())));
      }
      return found->second.contains(node.opcode);
    }
    return save_list_.contains(node.opcode);
  }

  /// Whether the weight has the shape of a weight in a module on the force list.
  bool is_forced(const Rule& rule, ValueId weight) {
    for (const std::string& glob : rule.policy.names) {
      for (const Shape& shape : forced_shapes(glob)) {
        if (shape == trace_.type(weight).shape) return true;
      }
    }
    return false;
  }

  const std::vector<Shape>& forced_shapes(const std::string& glob) {
    auto [found, fresh] = forced_.try_emplace(glob);
    if (!fresh) return found->second;
    std::set<std::string_view> modules;
    for (const Node& node : trace_.nodes) {
      if (!flow_.is_forward(node)) continue;
      const std::optional<ValueId> weight = weight_of(flow_, node);
      if (!weight) continue;
      const std::string_view module = node.module.view();
      const std::string_view last = module.substr(module.rfind('.') + 1);
      modules.insert(last);
      if (glob_matches(glob, module) || glob_matches(glob, last)) found->second.push_back(trace_.type(*weight).shape);
    }
    if (found->second.empty()) {
      const std::vector<std::string_view> known(modules.begin(), modules.end());
      throw UserError(
          fmt::format("no module with a matrix product matches '{}' on the force list of alternate{}", glob, names_hint(glob, known)));
    }
    return found->second;
  }

  /// Whether the rule keeps outputs of the node, whoever reads them. Asked of every node once, in order.
  bool keeps(const Rule& rule, const Node& node) {
    switch (rule.policy.kind) {
      case RegionPolicy::Kind::none: return true;
      case RegionPolicy::Kind::step:  // rules_of has put full in its place
      case RegionPolicy::Kind::full: return false;
      case RegionPolicy::Kind::ops: return on_list(rule, node);
      case RegionPolicy::Kind::alternate: {
        if (!on_list(rule, node)) return false;
        const std::optional<ValueId> weight = weight_of(flow_, node);
        if (!weight) return true;
        if (is_forced(rule, *weight)) return false;
        return products_[rule.region.str()]++ % 2 == 0;
      }
    }
    return true;
  }

  void note_replay(std::size_t n, const Node& node, const std::vector<Rule>& rules) {
    kept_.clear();
    bool all_keep = true;
    for (const Rule& rule : rules) {
      kept_.push_back(keeps(rule, node));
      all_keep = all_keep && kept_.back();
    }
    if (rules.empty()) return;
    const bool once = !reason_to_run_once(node).empty();
    result_.replay_region[n] = rules.front().region;
    result_.replays[n] = !all_keep && !once;
    result_.listed[n] =
        all_keep && std::all_of(rules.begin(), rules.end(), [](const Rule& rule) { return rule.policy.kind != RegionPolicy::Kind::none; });
  }

  /// `kept_` holds what the rules say of the node.
  Wish by_rules(ValueId output, const Node& node, const std::vector<Rule>& rules) const {
    Wish wish;
    wish.open = true;
    wish.why = "backward reads it";
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const Rule& rule = rules[i];
      if (rule.depth > flow_.kept_within(output)) {
        wish.why = fmt::format("leaves region {}", region_names(rule.region.view()));
        continue;
      }
      wish.open = false;
      wish.why = rule.why;
      if (!kept_[i]) {
        wish.kind = Wish::Kind::again;
        break;
      }
    }
    if (const std::string_view reason = reason_to_run_once(node); !reason.empty()) wish = {Wish::Kind::keep, reason, false};
    return wish;
  }

  // ---- tags --------------------------------------------------------------------------------------------------------

  struct Asked {
    Tag tag;
    std::string_view value;
  };

  static int strength(const Tag& tag) {
    if (tag.kind == TagKind::must_save || tag.kind == TagKind::must_recompute || tag.kind == TagKind::offload) return 2;
    return is_explicit(tag) ? 1 : 0;
  }

  void apply_tags() {
    std::map<std::size_t, std::vector<Asked>> by_owner;
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      for (const Tag& tag : trace_.values[i].tags) {
        if (strength(tag) > 0) by_owner[flow_.owner(ValueId(i)).index()].push_back({tag, trace_.values[i].name});
      }
    }
    for (const auto& [owner, asked] : by_owner) apply_tags(ValueId(owner), asked);
  }

  static bool saves(TagKind kind) { return kind == TagKind::must_save || kind == TagKind::prefer_save; }

  void apply_tags(ValueId owner, const std::vector<Asked>& asked) {
    const Asked* strongest = &asked.front();
    for (const Asked& one : asked) {
      if (one.tag.kind == TagKind::offload) {
        throw UserError(fmt::format("%{} is tagged offload by {}, but this device's memory is the host's: there is nowhere else to keep it",
                                    one.value, one.tag.source.view()));
      }
      if (strength(one.tag) > strength(strongest->tag)) strongest = &one;
    }
    for (const Asked& one : asked) {
      if (strength(one.tag) != strength(strongest->tag) || saves(one.tag.kind) == saves(strongest->tag.kind)) continue;
      const std::string other = one.value == strongest->value ? std::string() : fmt::format("%{} of the same storage is ", one.value);
      throw UserError(fmt::format("tags contradict each other: %{} is {} by {}, and {}{} by {}; remove one of them", strongest->value,
                                  tag_name(strongest->tag.kind), strongest->tag.source.view(), other, tag_name(one.tag.kind),
                                  one.tag.source.view()));
    }
    const bool again = !saves(strongest->tag.kind);
    const bool must = strength(strongest->tag) == 2;
    if (!flow_.is_forward(owner)) {
      if (again && must) {
        throw UserError(fmt::format("%{} is must_recompute by {}, but {}", strongest->value, strongest->tag.source.view(),
                                    trace_[owner].producer.valid() ? "no forward node makes it; remove the tag"
                                                                   : "it is an input of the step, which nothing makes; remove the tag"));
      }
      return;
    }
    const Node& node = trace_[trace_[owner].producer];
    if (const std::string_view reason = reason_to_run_once(node); again && !reason.empty()) {
      if (!must) return;
      throw UserError(fmt::format("%{} is must_recompute by {}, but {} cannot run again: {}", strongest->value,
                                  strongest->tag.source.view(), opcode_name(node.opcode), reason));
    }
    if (again) result_.listed[trace_[owner].producer.index()] = false;  // a tag is stronger than a list
    result_.of[owner.index()] = {again ? Wish::Kind::again : Wish::Kind::keep,
                                 fmt::format("tag {} by {}", tag_name(strongest->tag.kind), strongest->tag.source.view()), false};
  }

  void check_patterns() const {
    if (policy_.kind != Kind::regions || region_paths_.empty()) return;
    const std::vector<std::string_view> known(region_paths_.begin(), region_paths_.end());
    for (const std::string& glob : policy_.globs) {
      const bool any = std::any_of(known.begin(), known.end(), [&](std::string_view path) { return glob_matches(glob, path); });
      if (!any) {
        throw UserError(fmt::format("no checkpoint region matches '{}' of recompute {}{}", glob, policy_.str(), names_hint(glob, known)));
      }
    }
  }

  const ForwardFlow& flow_;
  const Trace& trace_;
  const PolicySpec& policy_;
  const SaveList& save_list_;
  Wishes result_;
  std::map<std::string, std::size_t> blocks_;
  std::unordered_map<std::string, std::vector<RegionSegment>> segments_;  // views into the keys
  std::unordered_map<std::string, std::vector<Rule>> rules_;
  std::unordered_map<std::string, SaveList> lists_;
  std::unordered_map<std::string, std::vector<Shape>> forced_;
  std::unordered_map<std::string, std::size_t> products_;
  std::set<std::string> region_paths_;
  std::vector<bool> kept_;
};

}  // namespace

Wishes resolve_wishes(const ForwardFlow& flow, const PolicySpec& policy, const SaveList& save_list) {
  return Resolver(flow, policy, save_list).run();
}

}  // namespace reprise
