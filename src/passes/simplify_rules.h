// SPDX-License-Identifier: Apache-2.0
// What a rule of simplification is; the rules themselves stand in simplify_rules.cpp.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "passes/rewrite.h"

namespace reprise {

/// What a rule sees: an old node and the new values it reads.
struct RuleContext {
  Rewriter& rewriter;
  const Node& node;
  const std::vector<ValueId>& inputs;

  Builder& b() const { return rewriter.builder(); }
  ValueId x() const { return inputs[0]; }
  const TensorType& in_type(std::size_t i = 0) const { return rewriter.to().type(inputs[i]); }
  const TensorType& out_type() const { return rewriter.from().type(node.outputs[0]); }
  /// The node that makes input i, if it is `opcode`.
  const Node* made_by(Opcode opcode, std::size_t i = 0) const;
  /// The same, for a rule that reads what that node reads. Nothing when something is wanted of the value between (Tag): left out, it
  /// would take the wish with it.
  const Node* past(Opcode opcode, std::size_t i = 0) const;
};

struct Rule {
  std::string_view name;
  std::vector<Opcode> opcodes;  // that it looks at; none: all
  /// Returns the value that equals the node's only output in type and every bit: one that is there, or newly emitted.
  std::optional<ValueId> (*apply)(const RuleContext& context);
};

std::span<const Rule> simplify_rules();

}  // namespace reprise
