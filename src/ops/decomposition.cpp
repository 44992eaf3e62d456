// SPDX-License-Identifier: Apache-2.0
#include "ops/decomposition.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "ops/builder.h"
#include "ops/op_table.h"

namespace reprise {

Trace decomposition(const Node& node, std::span<const TensorType> inputs) {
  const OpRow& row = op_row(node.opcode);
  const std::string_view name = opcode_name(node.opcode);
  REPRISE_CHECK(static_cast<bool>(row.decompose), fmt::format("op '{}' has neither evaluate nor decompose", name));
  Trace parts;
  parts.name = name;
  std::vector<ValueId> arguments;
  for (const TensorType& input : inputs) arguments.push_back(parts.add_input(input, Role::batch, "x"));
  Builder builder(parts);
  parts.outputs = row.decompose(builder, node, arguments);
  const std::vector<TensorType> wanted = row.infer(node, inputs);
  REPRISE_CHECK(parts.outputs.size() == wanted.size(), fmt::format("the decomposition of op '{}' makes {} values, `infer` says {}", name, parts.outputs.size(), wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const TensorType& made = parts.type(parts.outputs[i]);
    REPRISE_CHECK(made == wanted[i], fmt::format("output {} of the decomposition of op '{}' is {}, `infer` says {}", i, name, made.str(), wanted[i].str()));
  }
  return parts;
}

}  // namespace reprise
