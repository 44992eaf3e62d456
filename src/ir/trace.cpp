// SPDX-License-Identifier: Apache-2.0
#include "ir/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "ir/attrs_fields.h"

namespace reprise {

bool operator==(const Node& a, const Node& b) {
  return a.opcode == b.opcode && a.in_place == b.in_place && a.phase == b.phase && a.inputs == b.inputs &&
         a.outputs == b.outputs && attrs_equal(a.attrs, b.attrs) && a.bodies == b.bodies && a.module == b.module &&
         a.region == b.region && a.executor == b.executor && a.source == b.source;
}

bool operator==(const Trace& a, const Trace& b) {
  return a.name == b.name && a.values == b.values && a.nodes == b.nodes && a.inputs == b.inputs &&
         a.outputs == b.outputs && a.donations == b.donations;
}

ValueId Trace::add_input(TensorType type, Role role, std::string_view hint) {
  const ValueId id(values.size());
  values.push_back(Value{type, unique_name(hint), {}, NodeId(), static_cast<std::uint32_t>(inputs.size())});
  inputs.push_back({id, role});
  return id;
}

NodeId Trace::add_node(Node node, std::span<const TensorType> types, std::string_view hint) {
  const NodeId id(nodes.size());
  node.outputs.clear();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string wanted = i == 0 ? std::string(hint) : fmt::format("{}:{}", values[node.outputs[0].index()].name, i);
    node.outputs.push_back(ValueId(values.size()));
    values.push_back(Value{types[i], unique_name(wanted), {}, id, static_cast<std::uint32_t>(i)});
  }
  nodes.push_back(std::move(node));
  return id;
}

std::string Trace::unique_name(std::string_view hint) {
  if (names_.insert(hint, 1)) return std::string(hint);
  std::uint32_t suffix = *names_.find(hint);
  std::string candidate;
  do {
    candidate = fmt::format("{}.{}", hint, ++suffix);
  } while (!names_.insert(candidate, 1));
  names_.set(hint, suffix);
  return candidate;
}

void Trace::reserve_name(std::string_view taken) { names_.insert(taken, 1); }

Trace Trace::frame() const {
  Trace result;
  result.name = name;
  result.inputs = inputs;
  result.outputs = outputs;
  result.donations = donations;
  result.names_ = names_;
  return result;
}

ValueId Trace::find(std::string_view wanted) const {
  const auto found = std::find_if(values.begin(), values.end(), [&](const Value& value) { return value.name == wanted; });
  return found == values.end() ? ValueId() : ValueId(static_cast<std::size_t>(found - values.begin()));
}

std::string_view phase_name(Phase phase) {
  constexpr std::array<std::string_view, 4> names = {"forward", "backward", "recompute", "update"};
  return names[static_cast<std::size_t>(phase)];
}

std::string_view role_name(Role role) {
  constexpr std::array<std::string_view, 5> names = {"param", "state", "batch", "scalar", "rng"};
  return names[static_cast<std::size_t>(role)];
}

std::string_view tag_name(TagKind kind) {
  constexpr std::array<std::string_view, 5> names = {"must_save", "prefer_save", "prefer_recompute", "must_recompute",
                                                     "offload"};
  return names[static_cast<std::size_t>(kind)];
}

const Attrs& default_attrs(Opcode opcode) {
  static const Attrs kDefaults[] = {
#define REPRISE_OP(name, attrs) Attrs(attrs{}),
#include "ir/opcodes.def"
#undef REPRISE_OP
  };
  static const Attrs kCustom = CustomAttrs{};
  return opcode.index < kBuiltinOpcodeCount ? kDefaults[opcode.index] : kCustom;
}

std::vector<std::vector<NodeId>> value_readers(const Trace& trace) {
  std::vector<std::vector<NodeId>> readers(trace.values.size());
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    for (const ValueId input : trace.nodes[n].inputs) {
      auto& list = readers[input.index()];
      if (list.empty() || list.back() != NodeId(n)) list.push_back(NodeId(n));
    }
  }
  return readers;
}

}  // namespace reprise
