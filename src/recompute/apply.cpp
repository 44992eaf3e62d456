// SPDX-License-Identifier: Apache-2.0
#include "recompute/apply.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/storage.h"
#include "base/error.h"
#include "ir/name_table.h"
#include "ops/builders.h"

namespace reprise {
namespace {

class Applier {
 public:
  Applier(const ClaimedTrace& claimed, const RecomputePlan& plan, const ClaimNode& claim)
      : claimed_(claimed), from_(claimed.trace), plan_(plan), claim_(claim), storage_(from_) {
    result_.trace = from_.frame();
    to().values.reserve(from_.values.size());
    to().nodes.reserve(from_.nodes.size() + plan.copies.size());
    by_name_.reserve(from_.values.size());
    for (std::size_t i = 0; i < from_.values.size(); ++i) by_name_.insert(from_.values[i].name, static_cast<std::uint32_t>(i));
    moved_.resize(from_.values.size());
    copied_.resize(from_.values.size());
    kept_.resize(from_.values.size(), false);
    dense_.resize(from_.values.size(), false);
    for (const SavedEntry& entry : plan_.saved) {
      (entry.how == SavedEntry::How::copy ? dense_ : kept_)[find(entry.value).index()] = true;
      if (entry.how == SavedEntry::How::hold) holds_[entry.until].push_back(find(entry.value));
    }
  }

  ClaimedTrace run() {
    for (TraceInput& input : to().inputs) input.value = move_value(input.value, NodeId());
    for (std::size_t n = 0; n < from_.nodes.size(); ++n) {
      if (from_.nodes[n].phase == Phase::forward) {
        forward(n);
      } else {
        backward(n);
      }
    }
    for (ValueId& output : to().outputs) output = moved_[output.index()];
    REPRISE_CHECK(next_ == plan_.copies.size(), "a recompute plan with copies that stand nowhere");
    return std::move(result_);
  }

 private:
  Trace& to() { return result_.trace; }

  ValueId find(const std::string& name) const {
    const std::optional<std::uint32_t> found = by_name_.find(name);
    REPRISE_CHECK(found.has_value(), "a recompute plan names a value that the trace has not: " + name);
    return ValueId(*found);
  }

  ValueId move_value(ValueId old, NodeId producer) {
    const ValueId id(to().values.size());
    to().values.push_back(from_[old]);
    to().values.back().producer = producer;
    moved_[old.index()] = id;
    return id;
  }

  void append(std::size_t n, Node node) {
    const NodeId id(to().nodes.size());
    for (ValueId& output : node.outputs) output = move_value(output, id);
    to().nodes.push_back(std::move(node));
    result_.claims.push_back(claimed_.claims[n]);
  }

  void forward(std::size_t n) {
    Node node = from_.nodes[n];
    for (ValueId& input : node.inputs) input = moved_[input.index()];
    append(n, std::move(node));
    for (const ValueId output : from_.nodes[n].outputs) {
      if (dense_[output.index()]) copied_[output.index()] = dense_copy(moved_[output.index()], from_[output].name + ".saved", from_.nodes[n], Phase::forward);
    }
  }

  void backward(std::size_t n) {
    const Node& old = from_.nodes[n];
    if (!old.outputs.empty()) {
      const std::string& name = from_[old.outputs[0]].name;
      while (next_ < plan_.copies.size() && plan_.copies[next_].before == name) run_again(plan_.copies[next_++]);
      if (const auto held = holds_.find(name); held != holds_.end()) {
        for (const ValueId value : held->second) touch(value);
      }
    }
    Node node = old;
    for (ValueId& input : node.inputs) input = readable(input);
    append(n, std::move(node));
  }

  bool is_forward(ValueId old) const {
    const NodeId producer = from_[old].producer;
    return producer.valid() && from_[producer].phase == Phase::forward;
  }

  /// What a backward node reads for an old value. A view that backward itself makes follows what it is made of.
  ValueId readable(ValueId old) const {
    if (copied_[old.index()].valid()) return copied_[old.index()];
    const ValueId owner = storage_.owner(old);
    const bool there = !is_forward(old) || !is_forward(owner) || kept_[owner.index()];
    REPRISE_CHECK(there, "a recompute plan leaves out " + from_[old].name);
    return moved_[old.index()];
  }

  void run_again(const CopyEntry& entry) {
    const ValueId first = find(entry.value);
    const NodeId original = from_[first].producer;
    Node node = from_[original];
    node.phase = Phase::recompute;
    for (ValueId& input : node.inputs) input = readable(input);
    const NodeId id(to().nodes.size());
    const std::string suffix = entry.name.starts_with(from_[first].name) ? entry.name.substr(from_[first].name.size()) : "." + entry.name;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId old = node.outputs[i];
      Value value = from_[old];
      value.name = to().unique_name(i == 0 ? entry.name : value.name + suffix);
      value.producer = id;
      node.outputs[i] = ValueId(to().values.size());
      to().values.push_back(std::move(value));
    }
    fresh_.assign(node.outputs.begin(), node.outputs.end());
    to().nodes.push_back(std::move(node));
    result_.claims.push_back(claimed_.claims[original.index()]);
    for (std::size_t i = 0; i < fresh_.size(); ++i) {
      const ValueId old = from_[original].outputs[i];
      if (!kept_[old.index()]) copied_[old.index()] = fresh_[i];
    }
  }

  ValueId dense_copy(ValueId value, const std::string& name, const Node& beside, Phase phase) {
    Node copy;
    copy.opcode = op::copy;
    copy.phase = phase;
    copy.module = beside.module;
    copy.region = beside.region;
    copy.source = beside.source;
    copy.inputs = {value};
    const std::vector<TensorType> type = {to().type(value)};
    Claim claim = claim_(copy, type, type);
    const NodeId id = to().add_node(std::move(copy), type, name);
    result_.claims.push_back(std::move(claim));
    return to()[id].outputs[0];
  }

  /// Reads one element of a held value, so that its storage lives up to here.
  void touch(ValueId old) {
    const Node& origin = from_[from_[old].producer];
    ValueId value = moved_[old.index()];
    Builder builder(to());
    builder.context = {Phase::recompute, origin.module, origin.region, origin.source, {}};
    value = ops::slice(builder, ops::reshape(builder, value, {to().type(value).shape.numel()}), 0, 0, 1);
    while (result_.claims.size() < to().nodes.size()) {
      to().nodes[result_.claims.size()].executor = "view";
      result_.claims.emplace_back();
    }
    dense_copy(value, from_[old].name + ".held", origin, Phase::recompute);
  }

  const ClaimedTrace& claimed_;
  const Trace& from_;
  const RecomputePlan& plan_;
  const ClaimNode& claim_;
  StorageMap storage_;
  ClaimedTrace result_;
  NameTable by_name_;  // of old values: their indices
  std::unordered_map<std::string, std::vector<ValueId>> holds_;  // by the name of the node they end at
  std::vector<ValueId> moved_;   // by old value: the original in the new trace
  std::vector<ValueId> copied_;  // by old value: what backward reads instead
  std::vector<ValueId> fresh_;
  std::vector<bool> kept_;
  std::vector<bool> dense_;
  std::size_t next_ = 0;
};

}  // namespace

ClaimedTrace apply_plan(const ClaimedTrace& claimed, const RecomputePlan& plan, const ClaimNode& claim) {
  if (plan.empty()) return claimed;
  return Applier(claimed, plan, claim).run();
}

}  // namespace reprise
