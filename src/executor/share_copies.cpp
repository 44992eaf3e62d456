// SPDX-License-Identifier: Apache-2.0
#include "executor/share_copies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/storage.h"
#include "memory/schedule.h"

namespace reprise {
namespace {

/// Where a node reads a storage.
struct Read {
  std::size_t node;
  std::size_t input;
};

/// A value, and the copy of a permutation of it that can stand for it in backward.
struct Shared {
  ValueId value;
  ValueId copy;
  std::vector<std::int64_t> back;  // permutes the copy into the value
  std::vector<Read> reads;         // of the value, by backward
};

class Sharing {
 public:
  explicit Sharing(const ClaimedTrace& claimed)
      : claimed_(claimed),
        trace_(claimed.trace),
        storage_(trace_),
        reads_(trace_.values.size()),
        tagged_(trace_.values.size()) {
    const Interned autograd("autograd");
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      const std::vector<Tag>& tags = trace_.values[i].tags;
      const bool by_user = std::any_of(tags.begin(), tags.end(), [&](const Tag& tag) { return tag.source != autograd; });
      if (by_user) tagged_[storage_.owner(ValueId(i)).index()] = true;
    }
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      const Node& node = trace_.nodes[n];
      if (node.phase != Phase::backward || storage_.shares(node)) continue;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) reads_[storage_.owner(node.inputs[k]).index()].push_back({n, k});
    }
  }

  /// In order of the first read.
  std::vector<Shared> find() const {
    std::vector<Shared> found;
    std::vector<bool> shared(trace_.values.size());
    for (const Node& node : trace_.nodes) {
      Shared one;
      if (!copies_a_permutation(node, one) || shared[one.value.index()] || !gains(one)) continue;
      shared[one.value.index()] = true;
      one.reads = reads_[one.value.index()];
      found.push_back(std::move(one));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Shared& a, const Shared& b) { return a.reads.front().node < b.reads.front().node; });
    return found;
  }

 private:
  bool is_forward(const Node& node) const { return node.phase == Phase::forward; }

  bool copies_a_permutation(const Node& node, Shared& one) const {
    if (node.opcode != op::copy || !is_forward(node) || !storage_.owns(node.outputs[0])) return false;
    const NodeId from = trace_[node.inputs[0]].producer;
    if (!from.valid() || trace_[from].opcode != op::permute || !storage_.shares(trace_[from])) return false;
    one.value = trace_[from].inputs[0];
    one.copy = node.outputs[0];
    const NodeId made = trace_[one.value].producer;
    if (!storage_.owns(one.value) || !made.valid() || !is_forward(trace_[made])) return false;
    const std::vector<std::int64_t>& dims = trace_[from].as<DimsAttrs>().dims;
    one.back.resize(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) one.back[static_cast<std::size_t>(dims[i])] = static_cast<std::int64_t>(i);
    return true;
  }

  /// Whether backward reads the copy as it is, and can read every use of the value through it.
  bool gains(const Shared& one) const {
    const std::vector<Read>& reads = reads_[one.value.index()];
    if (tagged_[one.value.index()] || reads.empty() || reads_[one.copy.index()].empty()) return false;
    if (std::any_of(trace_.outputs.begin(), trace_.outputs.end(), [&](ValueId output) { return storage_.owner(output) == one.value; })) {
      return false;
    }
    const std::vector<std::int64_t> dense = trace_.type(one.copy).shape.dense_strides();
    std::vector<std::int64_t> strides;
    for (const std::int64_t dim : one.back) strides.push_back(dense[static_cast<std::size_t>(dim)]);
    return std::all_of(reads.begin(), reads.end(), [&](const Read& read) {
      return trace_.nodes[read.node].inputs[read.input] == one.value &&
             layout_satisfies(claimed_.claims[read.node].layout(read.input), trace_.type(one.value).shape, strides);
    });
  }

  const ClaimedTrace& claimed_;
  const Trace& trace_;
  StorageMap storage_;
  std::vector<std::vector<Read>> reads_;  // of a storage, by backward nodes that compute; by owner
  std::vector<bool> tagged_;              // by the user, who speaks of this storage and not of a copy; by owner
};

}  // namespace

ClaimedTrace share_copies(ClaimedTrace claimed) {
  const std::vector<Shared> found = Sharing(claimed).find();
  if (found.empty()) return claimed;
  Trace& trace = claimed.trace;
  const std::size_t count = trace.nodes.size();
  std::vector<std::uint32_t> order;
  std::size_t next = 0;
  for (std::size_t n = 0; n < count; ++n) {
    for (; next < found.size() && found[next].reads.front().node == n; ++next) {
      const Shared& one = found[next];
      const Node& reader = trace.nodes[n];
      Node view;
      view.opcode = op::permute;
      view.attrs = DimsAttrs{one.back};
      view.inputs = {one.copy};
      view.executor = "view";
      view.phase = reader.phase;
      view.module = reader.module;
      view.region = reader.region;
      view.source = reader.source;
      const std::vector<TensorType> type = {trace.type(one.value)};
      order.push_back(static_cast<std::uint32_t>(trace.nodes.size()));
      const NodeId made = trace.add_node(std::move(view), type, trace[one.value].name + ".shared");
      claimed.claims.emplace_back();
      for (const Read& read : one.reads) trace.nodes[read.node].inputs[read.input] = trace[made].outputs[0];
    }
    order.push_back(static_cast<std::uint32_t>(n));
  }
  return apply_schedule(claimed, order);
}

}  // namespace reprise
