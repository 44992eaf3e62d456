// SPDX-License-Identifier: Apache-2.0
// What the makers of plans ask of a claimed training trace.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/storage.h"
#include "ir/trace.h"

namespace reprise {

/// Forward values, who owns their storage, and how far out of their checkpoint regions they are read.
class ForwardFlow {
 public:
  explicit ForwardFlow(const Trace& trace);

  const Trace& trace() const { return trace_; }
  const StorageMap& storage() const { return storage_; }
  /// Whether a forward node makes the value; trace inputs are there anyway.
  bool is_forward(ValueId value) const;
  bool is_forward(const Node& node) const { return node.phase == Phase::forward; }
  /// Whether the node only renames storage.
  bool is_view(const Node& node) const { return storage_.shares(node); }
  ValueId owner(ValueId value) const { return storage_.owner(value); }
  /// Of an owner: how many leading segments of its node's region path all forward readers of its storage lie in; 0 for
  /// outputs of the trace. A value leaves the regions beyond.
  std::size_t kept_within(ValueId owner) const { return kept_within_[owner.index()]; }
  /// Whether the value's storage is an output of the trace, so that it stays in any case.
  bool is_output(ValueId owner) const { return is_output_[owner.index()]; }

 private:
  const Trace& trace_;
  StorageMap storage_;
  std::vector<std::size_t> kept_within_;
  std::vector<bool> is_output_;
};

/// Why the node must run once only; empty when it may run again.
std::string_view reason_to_run_once(const Node& node);

}  // namespace reprise
