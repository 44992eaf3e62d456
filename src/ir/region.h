// SPDX-License-Identifier: Apache-2.0
// Checkpoint regions: what a node's region path says. A path is segments joined by '/', outermost first; a segment is the
// region's name, or NAME=POLICY for a region with a policy of its own: "block3/attn=full", "body=ops(linear,attention)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// What a checkpoint region keeps of the values made inside it, for backward.
struct RegionPolicy {
  enum class Kind : std::uint8_t {
    step,       // what the step's policy says; full where that is `tags`, which asks the code
    none,       // everything that backward reads
    full,       // nothing: its inputs are kept, and it runs again
    ops,        // outputs of the ops of a save list, the rest runs again
    alternate,  // as ops, but of the matrix products with weights only the first, third, ...
  };
  Kind kind = Kind::step;
  /// ops: the save list, empty for the default one. alternate: globs of module paths whose weight shapes are never kept.
  std::vector<std::string> names;

  /// "step", "full", "ops", "ops(linear,topk)", "alternate(*.gate)"; parses back.
  std::string str() const;
  friend bool operator==(const RegionPolicy&, const RegionPolicy&) = default;
};

/// Reads the text form. UserError naming what is wrong; names of ops are checked when a plan is made.
RegionPolicy parse_region_policy(std::string_view text);

struct RegionSegment {
  std::string_view path;  // the whole path up to and including this segment
  std::string_view name;
  std::optional<RegionPolicy> policy;
};

/// Splits a region path; nothing for the empty one. UserError where a segment's policy cannot be read.
std::vector<RegionSegment> split_region(std::string_view path);

/// The path without policies: "block3/attn".
std::string region_names(std::string_view path);

/// Number of leading segments that two paths share.
std::size_t shared_segments(std::string_view a, std::string_view b);

/// The text of one segment. UserError when `name` is empty or holds '/' or '=', and for names that the policy does not take.
std::string region_segment(std::string_view name, const std::optional<RegionPolicy>& policy);

}  // namespace reprise
