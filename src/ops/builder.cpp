// SPDX-License-Identifier: Apache-2.0
#include "ops/builder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/op_table.h"

namespace reprise {

std::vector<ValueId> Builder::append(Node node, std::string_view hint) {
  std::vector<TensorType> inputs;
  inputs.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) inputs.push_back(trace_->type(input));
  const std::vector<TensorType> types = op_row(node.opcode).infer(node, inputs);
  if (types.empty()) throw UserError(fmt::format("op '{}' infers no output; an op makes one at least", opcode_name(node.opcode)));
  const std::string_view name = hint.empty() ? opcode_name(node.opcode) : hint;
  const NodeId id = trace_->add_node(std::move(node), types, name);
  const std::vector<ValueId> outputs = trace_->nodes[id.index()].outputs;
  for (const ValueId output : outputs) (*trace_)[output].tags = context.tags;
  return outputs;
}

Node Builder::stamped(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs) const {
  Node node;
  node.opcode = opcode;
  node.phase = context.phase;
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  node.module = context.module;
  node.region = context.region;
  node.source = context.source;
  return node;
}

std::vector<ValueId> Builder::emit_all(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs, std::string_view hint) {
  return append(stamped(opcode, std::move(inputs), std::move(attrs)), hint);
}

std::vector<ValueId> Builder::emit_with_bodies(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs,
                                               std::vector<Trace> bodies, std::string_view hint) {
  Node node = stamped(opcode, std::move(inputs), std::move(attrs));
  node.bodies = std::move(bodies);
  return append(std::move(node), hint);
}

ValueId Builder::emit_in_place(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs, std::string_view hint) {
  Node node = stamped(opcode, std::move(inputs), std::move(attrs));
  node.in_place = true;
  return append(std::move(node), hint).front();
}

std::vector<ValueId> Builder::emit_like(const Node& node, std::vector<ValueId> inputs, std::string_view hint) {
  Node copy = node;
  copy.inputs = std::move(inputs);
  copy.phase = context.phase;
  return append(std::move(copy), hint);
}

}  // namespace reprise
