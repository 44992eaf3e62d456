// SPDX-License-Identifier: Apache-2.0
// The driver of every pass: walks an old trace in order and builds a new one. What is copied keeps its name, tags, phase,
// module, region, source and claim; inputs, roles, outputs with their names, and donations carry over by themselves.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/trace.h"
#include "ops/builder.h"

namespace reprise {

class Rewriter {
 public:
  /// Starts the new trace with the inputs of `from`, which must outlive this.
  explicit Rewriter(const Trace& from);

  const Trace& from() const { return from_; }
  Trace& to() { return to_; }
  /// Emits into the new trace. Its context is that of the node last passed to `at`.
  Builder& builder() { return builder_; }

  /// The new value that stands for an old one; InternalError when nothing does yet.
  ValueId map(ValueId old) const;
  bool mapped(ValueId old) const { return map_[old.index()].valid(); }
  /// From now on `replacement` stands for `old`.
  void replace(ValueId old, ValueId replacement) { map_[old.index()] = replacement; }
  std::vector<ValueId> map_all(std::span<const ValueId> olds) const;

  /// Sets the builder's context to the phase, module, region and source of an old node.
  void at(const Node& old);
  /// Copies an old node on mapped inputs.
  void copy(const Node& old) { copy(old, map_all(old.inputs)); }
  /// Copies an old node on the given new inputs; its outputs keep names and tags, and stand for the old ones.
  NodeId copy(const Node& old, std::vector<ValueId> inputs);
  /// As `copy`, for a node that was changed (opcode, attributes, bodies) and still defines the outputs of `old`.
  NodeId copy_changed(const Node& old, Node changed);
  /// Lets `made`, the first output of a node emitted last, stand for `old` under its name and with its tags.
  void take_over(ValueId old, ValueId made);
  /// Lets `made`, one value per output, stand for the outputs of `old`. A value of index `fresh` or more was emitted for it and is
  /// taken over; another stands in as it is, and behind a copy where the old one is an output of the trace or tagged.
  void stand_in(const Node& old, std::span<const ValueId> made, std::size_t fresh);

  /// Whether an output of the old trace: its identity matters to donations, so that it is best not merged with another.
  bool is_output(ValueId old) const { return is_output_[old.index()]; }

  /// Maps outputs, and returns the new trace. An output keeps its name, by which programs are asked for it; only one that
  /// stands for an input has another, since the input keeps its own.
  Trace finish();

 private:
  void keep_output_names();
  ValueId copy_of(ValueId value, std::string_view hint);

  const Trace& from_;
  Trace to_;
  Builder builder_;
  std::vector<ValueId> map_;
  std::vector<bool> is_output_;
};

/// Runs `visit` on every node in order, and returns the new trace. Nodes for which it returns false are copied.
Trace rewrite(const Trace& from, const std::function<bool(Rewriter&, const Node&)>& visit);

/// Returns an equal program whose values are numbered in canonical order: inputs, then every node's outputs.
Trace renumber(const Trace& trace);

/// Returns the trace with `pass` applied to every sub-trace, at any depth, innermost first.
Trace in_sub_traces(const Trace& trace, const std::function<Trace(const Trace&)>& pass);

/// Applies `pass` to every sub-trace, at any depth, innermost first, and at last to the trace itself.
Trace at_every_depth(const Trace& trace, const std::function<Trace(const Trace&)>& pass);

/// Whether a node writes its input's storage. Passes that move, merge or drop values need a trace without.
bool has_in_place_nodes(const Trace& trace);

}  // namespace reprise
