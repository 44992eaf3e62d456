// SPDX-License-Identifier: Apache-2.0
#include "executor/claim_trace.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "analysis/storage.h"
#include "base/error.h"
#include "memory/dependencies.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

class Claimer {
 public:
  Claimer(const Trace& trace, const ExecutorList& executors, const Target& target, int threads)
      : from_(trace), executors_(executors), target_(target), threads_(threads) {
    result_.trace = trace.frame();
    to().values.reserve(trace.values.size());
    to().nodes.reserve(trace.nodes.size());
    renamed_.resize(trace.values.size());
  }

  ClaimedTrace run() {
    for (TraceInput& input : to().inputs) {
      persistent_.push_back(is_persistent(input.role));
      input.value = move_value(input.value, NodeId());
    }
    for (const Node& node : from_.nodes) add(node);
    for (ValueId& output : to().outputs) output = renamed_[output.index()];
    own_outputs();
    carry_donations();
    return std::move(result_);
  }

 private:
  Trace& to() { return result_.trace; }

  ValueId move_value(ValueId old, NodeId producer) {
    const ValueId id(to().values.size());
    to().values.push_back(from_[old]);
    to().values.back().producer = producer;
    renamed_[old.index()] = id;
    places_.push_back(own_place(to(), id));
    return id;
  }

  void add(const Node& original) {
    REPRISE_CHECK(!original.in_place, "nodes are claimed after in-place ones have been made pure");
    Node node = original;
    for (ValueId& input : node.inputs) input = renamed_[input.index()];
    if (is_view(node)) {
      std::optional<Place> place = view_place(to(), node, places_[node.inputs[0].index()]);
      if (!place) {
        node.inputs[0] = dense_copy(node.inputs[0], node);
        place = view_place(to(), node, places_[node.inputs[0].index()]);
      }
      if (place) {
        node.executor = "view";
        append(std::move(node), Claim{}, original);
        places_.back() = std::move(*place);
        return;
      }
    }
    std::vector<TensorType> inputs;
    std::vector<TensorType> outputs;
    for (const ValueId input : node.inputs) inputs.push_back(to().type(input));
    for (const ValueId output : original.outputs) outputs.push_back(from_.type(output));
    Claim claim = claim_node(node, inputs, outputs, executors_, target_, threads_);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId input = node.inputs[k];
      if (!layout_satisfies(claim.layout(k), to().type(input).shape, places_[input.index()].layout.strides)) {
        node.inputs[k] = dense_copy(input, node);
      }
    }
    append(std::move(node), std::move(claim), original);
  }

  static bool is_view(const Node& node) {
    return has_trait(op_row(node.opcode).traits, Trait::view) && !node.inputs.empty() && node.outputs.size() == 1;
  }

  void append(Node node, Claim claim, const Node& original) {
    const NodeId id(to().nodes.size());
    node.outputs.clear();
    for (const ValueId output : original.outputs) node.outputs.push_back(move_value(output, id));
    to().nodes.push_back(std::move(node));
    result_.claims.push_back(std::move(claim));
  }

  /// Emits a copy of `value` on behalf of a node of this phase and place.
  ValueId emit_copy(ValueId value, Phase phase, Interned module, Interned region, SourceLocation source) {
    Node copy;
    copy.opcode = op::copy;
    copy.phase = phase;
    copy.module = module;
    copy.region = region;
    copy.source = source;
    const std::vector<TensorType> type = {to().type(value)};
    copy.inputs = {value};
    Claim claim = claim_node(copy, type, type, executors_, target_, threads_);
    if (!layout_satisfies(claim.layout(0), type[0].shape, places_[value.index()].layout.strides)) {
      throw UserError(fmt::format("the executor {} copies dense arrays only; put one that takes strides before it in --executors",
                                  copy.executor.view()));
    }
    const NodeId id = to().add_node(std::move(copy), type, to()[value].name + ".copy");
    result_.claims.push_back(std::move(claim));
    const ValueId output = to()[id].outputs[0];
    places_.push_back(own_place(to(), output));
    return output;
  }

  /// A dense copy for `reader`. One copy serves all readers, but a copy of a parameter or state is not kept from forward
  /// to backward: its source is there anyway.
  ValueId dense_copy(ValueId value, const Node& reader) {
    const ValueId owner = places_[value.index()].owner;
    const bool lasting = !to()[owner].producer.valid() && persistent_[to()[owner].output];
    const std::pair<ValueId, Phase> key{value, lasting ? reader.phase : Phase::forward};
    const auto found = copies_.find(key);
    if (found != copies_.end()) return found->second;
    const ValueId copy = emit_copy(value, reader.phase, reader.module, reader.region, reader.source);
    copies_.emplace(key, copy);
    return copy;
  }

  /// The copy is the output now, and has its name; only an input keeps its own.
  ValueId copy_output(ValueId value) {
    const NodeId producer = to()[value].producer;
    if (!producer.valid()) return emit_copy(value, Phase::update, {}, {}, {});
    const Node& node = to()[producer];
    const ValueId copy =
        emit_copy(value, node.phase == Phase::forward ? Phase::forward : Phase::update, node.module, node.region, node.source);
    std::swap(to()[value].name, to()[copy].name);
    return copy;
  }

  /// Outputs are dense storages of their own; only an input handed on to itself stays what it is.
  void own_outputs() {
    std::vector<bool> kept(to().outputs.size(), false);
    for (const Donation& donation : to().donations) {
      kept[donation.output] = to().outputs[donation.output] == to().inputs[donation.input].value;
    }
    for (std::size_t o = 0; o < to().outputs.size(); ++o) {
      const ValueId output = to().outputs[o];
      const bool own = places_[output.index()].owner == output && to()[output].producer.valid();
      if (!kept[o] && !own) to().outputs[o] = copy_output(output);
    }
  }

  /// Where an output cannot be written straight onto the donated input, a copy at the end does it: first of the value,
  /// and of that copy again when it reads a donated input itself.
  void carry_donations() {
    for (int round = 0; round < 3; ++round) {
      const DependencyGraph graph = build_dependencies(result_, StorageMap(to()));
      bool all = true;
      for (std::size_t d = 0; d < graph.carried.size(); ++d) {
        if (graph.carried[d]) continue;
        all = false;
        ValueId& output = to().outputs[to().donations[d].output];
        output = copy_output(output);
      }
      if (all) return;
    }
    throw InternalError("a donation cannot be carried out by copies");
  }

  const Trace& from_;
  const ExecutorList& executors_;
  const Target& target_;
  int threads_;
  ClaimedTrace result_;
  std::vector<ValueId> renamed_;   // by old value
  std::vector<Place> places_;      // by new value
  std::vector<bool> persistent_;   // by trace input
  std::map<std::pair<ValueId, Phase>, ValueId> copies_;
};

}  // namespace

Claim claim_node(Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs, const ExecutorList& executors,
                 const Target& target, int threads) {
  for (const Executor* const executor : executors) {
    if (auto claim = executor->claim({node, inputs, outputs, target, threads})) {
      node.executor = Interned(executor->name());
      return std::move(*claim);
    }
  }
  std::string names;
  for (const Executor* const executor : executors) names += fmt::format("{}{}", names.empty() ? "" : ",", executor->name());
  std::string types;
  for (const TensorType& type : inputs) types += fmt::format("{}{}", types.empty() ? "" : ", ", type.str());
  throw UserError(fmt::format("no executor takes {}({}) in {}: executors are {}; add reference to --executors", opcode_name(node.opcode),
                              types, node.module.empty() ? "the step" : node.module.view(), names));
}

ClaimedTrace claim_trace(const Trace& trace, const ExecutorList& executors, const Target& target, int threads) {
  return Claimer(trace, executors, target, threads).run();
}

}  // namespace reprise
