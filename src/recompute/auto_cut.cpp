// SPDX-License-Identifier: Apache-2.0
#include "recompute/auto_cut.h"

#include <algorithm>
#include <cstdint>

#include "recompute/max_flow.h"

namespace reprise {
namespace {

class Cut {
 public:
  Cut(const ForwardFlow& flow, const NodePricer& pricer, Wishes& wishes) : flow_(flow), trace_(flow.trace()), pricer_(pricer), wishes_(wishes) {
    vertex_.resize(trace_.values.size(), 0);
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      if (flow_.is_forward(ValueId(i))) vertex_[i] = 2 + 2 * count_++;
    }
  }

  void run() {
    FlowNetwork network(2 + 2 * count_);
    for (const Node& node : trace_.nodes) {
      if (flow_.is_forward(node)) {
        add_node(network, node);
      } else {
        for (const ValueId input : node.inputs) {
          if (flow_.is_forward(input)) network.add_edge(out(input), kSink, FlowNetwork::kInfinite);
        }
      }
    }
    network.maximize(kSource, kSink);
    decide(network.sink_side(kSink));
  }

 private:
  static constexpr std::size_t kSource = 0;
  static constexpr std::size_t kSink = 1;

  std::size_t in(ValueId value) const { return vertex_[value.index()]; }
  std::size_t out(ValueId value) const { return vertex_[value.index()] + 1; }

  bool may_run_again(const Node& node, double price, ValueId output) const {
    const Wish& wish = wishes_.of[output.index()];
    if (!wish.open) return wish.kind == Wish::Kind::again;
    if (!node.region.empty() && flow_.kept_within(output) == 0) return false;
    return price <= kCheapPrice * static_cast<double>(trace_.type(output).bytes());
  }

  /// Bytes that keeping the value takes.
  std::int64_t capacity(const Node& node, ValueId output) const {
    const std::int64_t bytes = trace_.type(output).bytes();
    if (flow_.is_view(node)) {
      // A view of the whole is kept by its storage; of a part, a copy may be smaller.
      const ValueId owner = flow_.owner(output);
      const bool part = flow_.is_forward(owner) && bytes < trace_.type(owner).bytes();
      return part ? bytes : FlowNetwork::kInfinite;
    }
    const Wish& wish = wishes_.of[output.index()];
    if (!wish.open && wish.kind == Wish::Kind::again) return FlowNetwork::kInfinite;
    return flow_.is_output(output) ? 0 : bytes;
  }

  void add_node(FlowNetwork& network, const Node& node) {
    const double price = flow_.is_view(node) ? 0 : pricer_.price(trace_, node);
    for (const ValueId output : node.outputs) {
      network.add_edge(in(output), out(output), capacity(node, output));
      if (!flow_.is_view(node) && !may_run_again(node, price, output)) {
        network.add_edge(kSource, in(output), FlowNetwork::kInfinite);
        continue;
      }
      for (const ValueId input : node.inputs) {
        if (flow_.is_forward(input)) network.add_edge(out(input), in(output), FlowNetwork::kInfinite);
      }
    }
  }

  void decide(const std::vector<bool>& needed) {
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      const ValueId value(i);
      if (!flow_.is_forward(value)) continue;
      const bool kept = is_kept(needed, value);
      const Node& node = trace_[trace_[value].producer];
      if (flow_.is_view(node)) {
        wishes_.copied_views[i] = kept;
        const ValueId owner = flow_.owner(value);
        wishes_.remade_views[i] = needed[in(value)] && flow_.is_forward(owner) && !is_kept(needed, owner);
        continue;
      }
      Wish& wish = wishes_.of[i];
      if (!wish.open) continue;
      const bool again = needed[out(value)] && needed[in(value)];
      wish = {again ? Wish::Kind::again : Wish::Kind::keep, again ? "auto: cheap to make again" : wish.why.view(), true};
    }
  }

  bool is_kept(const std::vector<bool>& needed, ValueId value) const { return needed[out(value)] && !needed[in(value)]; }

  const ForwardFlow& flow_;
  const Trace& trace_;
  const NodePricer& pricer_;
  Wishes& wishes_;
  std::vector<std::size_t> vertex_;  // by value: its entry; its exit is the next
  std::size_t count_ = 0;
};

}  // namespace

void decide_open_wishes(const ForwardFlow& flow, const NodePricer& pricer, Wishes& wishes) { Cut(flow, pricer, wishes).run(); }

}  // namespace reprise
