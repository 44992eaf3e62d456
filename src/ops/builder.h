// SPDX-License-Identifier: Apache-2.0
// Appends nodes to a trace: infers types, names values, and stamps every node with the builder's current context.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/trace.h"

namespace reprise {

class Builder {
 public:
  /// Stamped on every node emitted; `tags` on every value.
  struct Context {
    Phase phase = Phase::forward;
    Interned module;
    Interned region;
    SourceLocation source;
    std::vector<Tag> tags;
  };

  explicit Builder(Trace& trace) : trace_(&trace) {}

  Trace& trace() { return *trace_; }
  /// By value: emitting moves what the trace holds.
  TensorType type(ValueId value) const { return trace_->type(value); }
  Shape shape(ValueId value) const { return trace_->type(value).shape; }
  DType dtype(ValueId value) const { return trace_->type(value).dtype; }

  Context context;

  /// Emits a node and returns its outputs. `hint` names the outputs; empty: the op's name. UserError when the types do not fit.
  std::vector<ValueId> emit_all(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs, std::string_view hint = {});
  /// Emits a node and returns its first output.
  ValueId emit(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs = NoAttrs{}, std::string_view hint = {}) {
    return emit_all(opcode, std::move(inputs), std::move(attrs), hint).front();
  }
  /// As emit_all, for a node that carries sub-traces.
  std::vector<ValueId> emit_with_bodies(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs, std::vector<Trace> bodies,
                                        std::string_view hint = {});
  /// Emits the in-place twin `opcode_`: the value that input 0's storage holds from now on.
  ValueId emit_in_place(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs = NoAttrs{}, std::string_view hint = {});
  /// Emits a copy of `node` (attributes, bodies, claim, in_place) on other inputs, in this builder's phase and the
  /// node's own module, region and source. Output tags are not copied.
  std::vector<ValueId> emit_like(const Node& node, std::vector<ValueId> inputs, std::string_view hint = {});

 private:
  Node stamped(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs) const;
  std::vector<ValueId> append(Node node, std::string_view hint);

  Trace* trace_;
};

}  // namespace reprise
