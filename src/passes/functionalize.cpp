// SPDX-License-Identifier: Apache-2.0
#include "passes/functionalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "interpreter/strided_copy.h"
#include "ir/printer.h"
#include "ops/builders.h"
#include "ops/op_table.h"
#include "passes/rewrite.h"

namespace reprise {
namespace {

class Functionalizer {
 public:
  Functionalizer(const Trace& trace, bool keep_inputs) : trace_(trace), rewriter_(trace), keep_inputs_(keep_inputs) {
    places_.resize(trace.values.size());
    for (std::size_t i = 0; i < trace.values.size(); ++i) {
      places_[i] = Place{ValueId(i), ValueId(), NodeId(), {0, trace.values[i].type.shape.dense_strides()}, 0};
    }
    versions_.assign(trace.values.size(), 0);
  }

  Trace run() {
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) node(NodeId(n));
    for (const ValueId output : trace_.outputs) read(output);
    std::vector<std::pair<std::uint32_t, ValueId>> written;
    for (std::size_t i = 0; keep_inputs_ && i < trace_.inputs.size(); ++i) {
      const auto [value, role] = trace_.inputs[i];
      const bool kept = role == Role::param || role == Role::state || role == Role::rng;
      if (kept && versions_[value.index()] != 0) written.emplace_back(static_cast<std::uint32_t>(i), read(value));
    }
    Trace result = rewriter_.finish();
    for (const auto& [input, value] : written) return_written(result, input, value);
    return result;
  }

 private:
  /// Where an old value lies: in the storage of `root`, as the view `node` makes it of `parent` (an in-place node's output is
  /// its first input itself). The mapped new value is what the storage held at `version`.
  struct Place {
    ValueId root;
    ValueId parent;
    NodeId view;
    Layout layout;  // in the dense storage of root
    std::uint32_t version = 0;
  };

  void node(NodeId id) {
    const Node& node = trace_[id];
    rewriter_.at(node);
    for (const ValueId input : node.inputs) read(input);
    if (node.in_place) return write(node);
    rewriter_.copy(node);
    for (const ValueId output : node.outputs) places_[output.index()].version = versions_[output.index()];
    const OpRow& row = op_row(node.opcode);
    if (!row.layout) return;
    const Place& from = places_[node.inputs.at(0).index()];
    std::optional<Layout> layout = row.layout(node, trace_.type(node.inputs[0]), from.layout);
    if (layout) {
      places_[node.outputs.at(0).index()] = Place{from.root, node.inputs[0], id, std::move(*layout), versions_[from.root.index()]};
    }
  }

  /// Returns the new value that holds what the old one's storage holds now, taking the view anew after a write.
  ValueId read(ValueId old) {
    Place& place = places_[old.index()];
    const std::uint32_t now = versions_[place.root.index()];
    if (place.version == now) return rewriter_.map(old);
    place.version = now;
    if (!place.parent.valid()) return rewriter_.map(old);  // the root itself: `write` keeps it up to date
    const ValueId parent = read(place.parent);
    ValueId value = parent;
    if (place.view.valid()) value = rewriter_.builder().emit_like(trace_[place.view], {parent}, trace_[old].name).front();
    rewriter_.replace(old, value);
    return value;
  }

  void write(const Node& node) {
    const ValueId target = node.inputs.at(0);
    const ValueId output = node.outputs.at(0);
    require_own_elements(node, target);
    Node pure = node;
    pure.in_place = false;
    pure.inputs = rewriter_.map_all(node.inputs);
    rewriter_.copy_changed(node, std::move(pure));
    const ValueId result = rewriter_.map(output);
    const Place place = places_[target.index()];
    const ValueId root = place.root;
    const ValueId old_base = read(root);
    const ValueId base = place.parent.valid() ? with_window(root, old_base, target, place.layout, result) : result;
    const std::uint32_t version = ++versions_[root.index()];
    rewriter_.replace(root, base);
    places_[root.index()].version = version;
    rewriter_.replace(target, result);
    places_[target.index()].version = version;
    places_[output.index()] = Place{root, target, NodeId(), place.layout, version};
  }

  /// The storage of `root`, now holding `result` where `target` lies.
  ValueId with_window(ValueId root, ValueId base, ValueId target, const Layout& layout, ValueId result) {
    const Shape& whole = trace_.type(root).shape;
    const Shape& window = trace_.type(target).shape;
    Builder& b = rewriter_.builder();
    const std::string& name = trace_[root].name;
    if (window == whole && is_dense(window, layout)) return result;
    if (window.numel() == whole.numel() && is_dense(window, layout)) {
      return b.emit(op::reshape, {result}, ShapeAttrs{whole, trace_.type(root).dtype}, name);
    }
    return b.emit(op::as_strided_scatter, {base, result}, StridedAttrs{window, layout.strides, layout.offset, {}}, name);
  }

  void require_own_elements(const Node& node, ValueId target) const {
    if (!may_overlap(trace_.type(target).shape, places_[target.index()].layout)) return;
    throw UserError(fmt::format(
        "an in-place op cannot write a tensor whose elements share places (expanded, or windows that overlap); copy it first: {}",
        print_node(trace_, trace_[node.outputs[0]].producer)));
  }

  void return_written(Trace& result, std::uint32_t input, ValueId value) const {
    const auto donated =
        std::find_if(result.donations.begin(), result.donations.end(), [&](const Donation& d) { return d.input == input; });
    if (donated == result.donations.end()) {
      result.donations.push_back({input, static_cast<std::uint32_t>(result.outputs.size())});
      result.outputs.push_back(value);
    } else if (result.outputs[donated->output] != value) {
      throw UserError(fmt::format("an input that is written in place is donated to an output that is not its last value: %{}",
                                  result[result.inputs[input].value].name));
    }
  }

  const Trace& trace_;
  Rewriter rewriter_;
  bool keep_inputs_;
  std::vector<Place> places_;            // by old value
  std::vector<std::uint32_t> versions_;  // of the storage of an old value that is a root: writes so far
};

Trace functionalize_body(const Trace& body) { return has_in_place_nodes(body) ? Functionalizer(body, false).run() : body; }

}  // namespace

Trace functionalize(const Trace& trace) {
  const Trace inside = in_sub_traces(trace, functionalize_body);
  return has_in_place_nodes(inside) ? Functionalizer(inside, true).run() : inside;
}

}  // namespace reprise
