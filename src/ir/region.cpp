// SPDX-License-Identifier: Apache-2.0
#include "ir/region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"

namespace reprise {
namespace {

using Kind = RegionPolicy::Kind;
constexpr std::array<std::pair<std::string_view, Kind>, 5> kKinds{
    {{"step", Kind::step}, {"none", Kind::none}, {"full", Kind::full}, {"ops", Kind::ops}, {"alternate", Kind::alternate}}};

std::string_view kind_name(Kind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& row) { return row.second == kind; })->first;
}

/// End of the segment that starts at `start`: the next '/' outside the parentheses of a policy. Those of a name mean nothing.
std::size_t segment_end(std::string_view path, std::size_t start) {
  bool in_policy = false;
  bool in_names = false;
  for (std::size_t i = start; i < path.size(); ++i) {
    if (path[i] == '=') in_policy = true;
    if (in_policy && path[i] == '(') in_names = true;
    if (path[i] == ')') in_names = false;
    if (path[i] == '/' && !in_names) return i;
  }
  return path.size();
}

/// Refuses a policy whose text would not read back as itself.
void check_policy(std::string_view region, const RegionPolicy& policy) {
  for (const std::string& name : policy.names) {
    if (name.empty() || name.find_first_of(",()") != std::string::npos) {
      throw UserError(fmt::format(
          "a name in the policy of region {} is not empty and holds no ',', no '(' and no ')'; give names one by one: '{}'", region, name));
    }
  }
  const bool takes_names = policy.kind == Kind::ops || policy.kind == Kind::alternate;
  if (!takes_names && !policy.names.empty()) {
    throw UserError(fmt::format("the policy {} of region {} takes no names; leave them out, or choose ops or alternate: {}",
                                kind_name(policy.kind), region, fmt::join(policy.names, ", ")));
  }
}

}  // namespace

std::string RegionPolicy::str() const {
  if (names.empty()) return std::string(kind_name(kind));
  return fmt::format("{}({})", kind_name(kind), fmt::join(names, ","));
}

RegionPolicy parse_region_policy(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::string_view word = text.substr(0, open);
  const auto* const row = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& one) { return one.first == word; });
  if (row == kKinds.end()) {
    std::array<std::string_view, kKinds.size()> known;
    std::transform(kKinds.begin(), kKinds.end(), known.begin(), [](const auto& one) { return one.first; });
    throw UserError(fmt::format("a region's policy is step, none, full, ops or alternate, not '{}'{}", text, nearest_hint(word, known)));
  }
  RegionPolicy policy{row->second, {}};
  if (open == std::string_view::npos) return policy;
  const bool takes_names = policy.kind == Kind::ops || policy.kind == Kind::alternate;
  if (!takes_names || text.back() != ')') {
    throw UserError(fmt::format("a region's policy reads ops(NAME,...) or alternate(GLOB,...), not '{}'", text));
  }
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    if (name.empty()) throw UserError(fmt::format("a name is missing in the region policy '{}'", text));
    policy.names.emplace_back(name);
    if (comma == std::string_view::npos) return policy;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<RegionSegment> split_region(std::string_view path) {
  std::vector<RegionSegment> segments;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = segment_end(path, start);
    const std::string_view segment = path.substr(start, end - start);
    const std::size_t equals = segment.find('=');
    RegionSegment one{path.substr(0, end), segment.substr(0, equals), std::nullopt};
    if (equals != std::string_view::npos) one.policy = parse_region_policy(segment.substr(equals + 1));
    segments.push_back(std::move(one));
    start = end + 1;
  }
  return segments;
}

std::string region_names(std::string_view path) {
  std::string names;
  for (const RegionSegment& segment : split_region(path)) {
    if (!names.empty()) names += '/';
    names += segment.name;
  }
  return names;
}

std::size_t shared_segments(std::string_view a, std::string_view b) {
  std::size_t shared = 0;
  for (std::size_t start = 0; start < a.size() && start < b.size(); ++shared) {
    const std::size_t end = segment_end(a, start);
    if (segment_end(b, start) != end || a.substr(start, end - start) != b.substr(start, end - start)) break;
    start = end + 1;
  }
  return shared;
}

std::string region_segment(std::string_view name, const std::optional<RegionPolicy>& policy) {
  if (name.empty() || name.find_first_of("/=") != std::string_view::npos) {
    throw UserError(fmt::format("a region's name is not empty and holds no '/' and no '=': '{}'", name));
  }
  if (!policy) return std::string(name);
  check_policy(name, *policy);
  return fmt::format("{}={}", name, policy->str());
}

}  // namespace reprise
