// SPDX-License-Identifier: Apache-2.0
#include "ops/decomposition.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "ops/builder.h"
#include "ops/op_table.h"

namespace reprise {

std::vector<ValueId> emit_parts(Builder& builder, const Node& node, std::span<const ValueId> inputs, std::span<const TensorType> outputs) {
  std::vector<ValueId> made = op_row(node.opcode).decompose(builder, node, inputs);
  if (made.size() != outputs.size()) {
    fail_op(node.opcode, fmt::format("makes {} values in decompose, `infer` says {}", made.size(), outputs.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!made[i].valid()) fail_op(node.opcode, fmt::format("makes no output {} in decompose", i));
    const TensorType& type = builder.type(made[i]);
    if (type == outputs[i]) continue;
    fail_op(node.opcode, fmt::format("makes output {} of {} in decompose, `infer` says {}", i, type.str(), outputs[i].str()));
  }
  return made;
}

Trace decomposition(const Node& node, std::span<const TensorType> inputs) {
  const OpRow& row = op_row(node.opcode);
  const std::string_view name = opcode_name(node.opcode);
  REPRISE_CHECK(static_cast<bool>(row.decompose), fmt::format("op '{}' has neither evaluate nor decompose", name));
  Trace parts;
  parts.name = name;
  std::vector<ValueId> arguments;
  for (const TensorType& input : inputs) arguments.push_back(parts.add_input(input, Role::batch, "x"));
  Builder builder(parts);
  parts.outputs = emit_parts(builder, node, arguments, row.infer(node, inputs));
  return parts;
}

}  // namespace reprise
