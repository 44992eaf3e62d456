// SPDX-License-Identifier: Apache-2.0
// The recompute plan: which values forward keeps for backward, which are made again and where. A value, made by
// plan_recompute or read from a file, checked by validate_plan, carried out by apply_plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/trace.h"

namespace reprise {

/// A value that stays in memory from forward to backward.
struct SavedEntry {
  enum class How : std::uint8_t {
    keep,  // its storage stays
    copy,  // a view: a dense copy of it stays, so that its storage need not
    hold,  // its storage stays although no one reads it, until the node `until` runs
  };
  How how = How::keep;
  std::string value;
  std::string until;  // hold: first output of a node
  std::string why;
  friend bool operator==(const SavedEntry&, const SavedEntry&) = default;
};

/// One more run of the node that makes `value`, right before the node whose first output is `before`. A backward node, and a
/// later copy, reads the nearest copy above it of what is not kept.
struct CopyEntry {
  std::string name;   // of the copy of `value`: "h3.r1"; further outputs of the node are named likewise
  std::string value;  // the node's first output
  std::string before;
  std::string why;
  friend bool operator==(const CopyEntry&, const CopyEntry&) = default;
};

struct RecomputePlan {
  std::string policy;             // its text
  std::string trace;              // name of the trace it is for
  std::uint64_t fingerprint = 0;  // of that trace
  bool replays_whole = false;     // regions run again to their ends, so that copies may have no reader
  std::vector<SavedEntry> saved;  // in order of the forward pass
  std::vector<CopyEntry> copies;  // in order of execution

  bool empty() const { return saved.empty() && copies.empty(); }
  /// One line an entry; parses back to an equal plan.
  std::string str() const;
  friend bool operator==(const RecomputePlan&, const RecomputePlan&) = default;
};

/// Plans one after the other.
std::string plans_text(const std::vector<RecomputePlan>& plans);

/// Reads plans written one after the other (of the step, of the accumulating micro-step). UserError naming `file` and the line.
std::vector<RecomputePlan> parse_plans(std::string_view text, std::string_view file);

/// A number for the nodes, types and names of a trace, executors apart: a plan fits the traces of its fingerprint.
std::uint64_t trace_fingerprint(const Trace& trace);

/// The suffix of the n-th copy, from 1: ".r1".
std::string copy_suffix(std::size_t n);

}  // namespace reprise
