// SPDX-License-Identifier: Apache-2.0
#include "analysis/saved.h"

#include <fmt/format.h>

#include "analysis/storage.h"

namespace reprise {

SavedReport saved_for_backward(const Trace& trace) {
  const StorageMap storage(trace);
  std::vector<std::vector<std::string>> readers(trace.values.size());  // by owner
  for (const Node& node : trace.nodes) {
    if (node.phase == Phase::forward || storage.shares(node) || node.outputs.empty()) continue;
    for (const ValueId input : node.inputs) {
      auto& names = readers[storage.owner(input).index()];
      const std::string& reader = trace[node.outputs[0]].name;
      if (names.empty() || names.back() != reader) names.push_back(reader);
    }
  }
  SavedReport report;
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    const Value& value = trace.values[i];
    if (readers[i].empty() || !value.producer.valid()) continue;
    const Node& producer = trace[value.producer];
    if (producer.phase != Phase::forward) continue;
    report.values.push_back({value.name, value.type, value.type.bytes(), std::string(opcode_name(producer.opcode)), producer.module.str(),
                             std::move(readers[i])});
    report.bytes += value.type.bytes();
  }
  return report;
}

std::string SavedReport::str() const {
  std::string text = fmt::format("saved for backward: {} values, {} bytes\n", values.size(), bytes);
  for (const SavedValue& value : values) {
    text += fmt::format("{:>12}  {:<28} %{} = {}", value.bytes, value.type.str(), value.name, value.op);
    if (!value.module.empty()) text += fmt::format("  @{}", value.module);
    text += fmt::format("  read by {}\n", fmt::join(value.readers, ", "));
  }
  return text;
}

}  // namespace reprise
