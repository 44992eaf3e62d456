// SPDX-License-Identifier: Apache-2.0
#include "ops/inline_body.h"

#include "base/error.h"

namespace reprise {

std::vector<ValueId> inline_body(Builder& b, const Trace& body, std::span<const ValueId> inputs) {
  REPRISE_CHECK(inputs.size() == body.inputs.size(), "a body needs a value for every input");
  std::vector<ValueId> outer(body.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) outer[body.inputs[i].value.index()] = inputs[i];
  for (const Node& node : body.nodes) {
    std::vector<ValueId> arguments;
    for (const ValueId input : node.inputs) arguments.push_back(outer[input.index()]);
    Node placed = node;
    if (placed.module.empty()) placed.module = b.context.module;
    if (placed.region.empty()) placed.region = b.context.region;
    if (placed.source.file.empty()) placed.source = b.context.source;
    const std::vector<ValueId> results = b.emit_like(placed, std::move(arguments), body[node.outputs.front()].name);
    for (std::size_t i = 0; i < results.size(); ++i) {
      outer[node.outputs[i].index()] = results[i];
      auto& tags = b.trace()[results[i]].tags;
      const auto& own = body[node.outputs[i]].tags;
      tags.insert(tags.end(), own.begin(), own.end());
    }
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : body.outputs) outputs.push_back(outer[output.index()]);
  return outputs;
}

}  // namespace reprise
