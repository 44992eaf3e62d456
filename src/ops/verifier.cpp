// SPDX-License-Identifier: Apache-2.0
#include "ops/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ir/name_table.h"
#include "ir/printer.h"
#include "ir/trace_observer.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

class Verifier {
 public:
  Verifier(const Trace& trace, std::string path, std::vector<std::string>& problems)
      : trace_(trace), path_(std::move(path)), problems_(problems) {}

  void run() {
    values();
    inputs();
    if (!ids_in_range()) return;  // nothing below could be looked up
    defined_.assign(trace_.values.size(), false);
    for (const TraceInput& input : trace_.inputs) defined_[input.value.index()] = true;
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) node(NodeId(n));
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      if (!defined_[i]) problem(fmt::format("nothing defines the value: %{}", trace_.values[i].name));
    }
    for (const ValueId output : trace_.outputs) {
      if (!defined_[output.index()]) problem(fmt::format("an output is never defined: %{}", trace_[output].name));
    }
    donations();
  }

 private:
  void problem(const std::string& text) { problems_.push_back(fmt::format("{}: {}", path_, text)); }
  void problem(NodeId node, std::string_view text) { problem(fmt::format("{}: {}", text, print_node(trace_, node))); }

  void values() {
    NameTable names;
    names.reserve(trace_.values.size());
    for (const Value& value : trace_.values) {
      if (!names.insert(value.name, 0)) problem(fmt::format("two values have one name: %{}", value.name));
    }
  }

  void inputs() {
    std::vector<bool> seen(trace_.values.size(), false);
    for (std::size_t i = 0; i < trace_.inputs.size(); ++i) {
      const ValueId id = trace_.inputs[i].value;
      if (!in_range(id)) continue;
      if (seen[id.index()]) problem(fmt::format("a value is two inputs of the trace: id {}", id.value));
      seen[id.index()] = true;
      const Value& value = trace_[id];
      if (value.producer.valid() || value.output != i) {
        problem(fmt::format("a value does not know that it is input {} of the trace: %{}", i, value.name));
      }
    }
  }

  bool in_range(ValueId id) const { return id.index() < trace_.values.size(); }

  bool ids_in_range() {
    const std::size_t before = problems_.size();
    const auto check = [&](ValueId id, std::string_view what, std::string_view of) {
      if (!in_range(id)) problem(fmt::format("the {} of {} name a value that does not exist: id {}", what, of, id.value));
    };
    for (const TraceInput& input : trace_.inputs) check(input.value, "inputs", "the trace");
    for (const ValueId output : trace_.outputs) check(output, "outputs", "the trace");
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      const Node& node = trace_.nodes[n];
      const auto all_in_range = [&](const std::vector<ValueId>& ids) {
        return std::all_of(ids.begin(), ids.end(), [&](ValueId id) { return in_range(id); });
      };
      if (all_in_range(node.inputs) && all_in_range(node.outputs)) continue;
      const std::string of = fmt::format("node {}", n);
      for (const ValueId input : node.inputs) check(input, "inputs", of);
      for (const ValueId output : node.outputs) check(output, "outputs", of);
    }
    return problems_.size() == before;
  }

  void node(NodeId id) {
    const Node& node = trace_[id];
    for (const ValueId input : node.inputs) {
      if (!defined_[input.index()]) problem(id, fmt::format("%{} is read before it is defined", trace_[input].name));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      const Value& value = trace_[output];
      if (defined_[output.index()]) problem(id, fmt::format("%{} is defined twice", value.name));
      if (value.producer != id || value.output != i) problem(id, fmt::format("%{} does not know that it is output {}", value.name, i));
      defined_[output.index()] = true;
    }
    if (node.attrs.index() != default_attrs(node.opcode).index()) problem(id, "attributes of another op's family");
    for (std::size_t i = 0; i < node.bodies.size(); ++i) {
      const std::string_view of = node.outputs.empty() ? opcode_name(node.opcode) : std::string_view(trace_[node.outputs[0]].name);
      Verifier(node.bodies[i], fmt::format("{}/%{}[{}]", path_, of, i), problems_).run();
    }
    const OpRow* const row = find_row(id);
    if (row == nullptr) return;
    types(id, *row);
    if (node.in_place) in_place(id, *row);
    phase(id, *row);
  }

  const OpRow* find_row(NodeId id) {
    try {
      return &op_row(trace_[id].opcode);
    } catch (const Error& error) {
      problem(id, error.what());
      return nullptr;
    }
  }

  void types(NodeId id, const OpRow& row) {
    const Node& node = trace_[id];
    if (!row.infer) return problem(id, "the op cannot infer types");
    input_types_.clear();
    for (const ValueId input : node.inputs) input_types_.push_back(trace_.type(input));
    std::vector<TensorType> inferred;
    try {
      inferred = row.infer(node, input_types_);
    } catch (const std::exception& error) {  // a row may also fail on attributes of another family, or a missing input
      return problem(id, fmt::format("the inputs do not fit ({})", error.what()));
    }
    if (inferred.size() != node.outputs.size()) {
      return problem(id, fmt::format("{} outputs are recorded, the op has {}", node.outputs.size(), inferred.size()));
    }
    for (std::size_t i = 0; i < inferred.size(); ++i) {
      const TensorType& recorded = trace_.type(node.outputs[i]);
      if (recorded != inferred[i]) {
        problem(id, fmt::format("output {} is recorded as {}, the op makes {}", i, recorded.str(), inferred[i].str()));
      }
    }
  }

  /// The value whose storage `id` shares, through views and in-place nodes.
  ValueId storage_root(ValueId id) const {
    std::size_t above = trace_.nodes.size();  // producers must come in falling order: an ill-formed trace may hold a circle
    while (trace_[id].producer.valid() && trace_[id].producer.index() < above) {
      above = trace_[id].producer.index();
      const Node& node = trace_.nodes[above];
      const bool shares = node.in_place || (trace_[id].output == 0 && is_view(node.opcode));
      if (!shares || node.inputs.empty()) break;
      id = node.inputs[0];
    }
    return id;
  }

  static bool is_view(Opcode opcode) {
    try {
      return static_cast<bool>(op_row(opcode).layout);
    } catch (const Error&) {  // reported at the node itself
      return false;
    }
  }

  void in_place(NodeId id, const OpRow& row) {
    const Node& node = trace_[id];
    if (!has_trait(row.traits, Trait::in_place_twin)) return problem(id, "the op has no in-place twin");
    if (node.inputs.empty() || node.outputs.empty() || trace_.type(node.inputs[0]) != trace_.type(node.outputs[0])) {
      return problem(id, "an in-place node's output has the type of its first input");
    }
    const ValueId root = storage_root(node.inputs[0]);
    if (trace_[root].producer.valid()) return;
    const std::uint32_t position = trace_[root].output;
    if (position >= trace_.inputs.size()) return;
    const Role role = trace_.inputs[position].role;
    const bool donated =
        std::any_of(trace_.donations.begin(), trace_.donations.end(), [&](const Donation& d) { return d.input == position; });
    if (!donated && (role == Role::param || role == Role::scalar || role == Role::rng)) {
      problem(id, fmt::format("writes in place to input %{} of role {}, which is not donated", trace_[root].name, role_name(role)));
    }
  }

  void phase(NodeId id, const OpRow& row) {
    const Node& node = trace_[id];
    if (node.phase == Phase::recompute &&
        has_trait(row.traits, Trait::random | Trait::effect | Trait::never_recompute | Trait::collective)) {
      problem(id, "the op must run once, and is recomputed");
    }
    for (const ValueId input : node.inputs) {
      if (!trace_[input].producer.valid() || trace_[input].producer.index() >= trace_.nodes.size()) continue;
      const Phase from = trace_[trace_[input].producer].phase;
      if (!may_read(node.phase, from)) {
        problem(id, fmt::format("a {} node reads %{} of phase {}", phase_name(node.phase), trace_[input].name, phase_name(from)));
      }
    }
  }

  static bool may_read(Phase reader, Phase from) {
    switch (reader) {
      case Phase::forward: return from == Phase::forward;
      case Phase::recompute: return from == Phase::forward || from == Phase::recompute;
      case Phase::backward: return from != Phase::update;
      case Phase::update: return true;
    }
    return false;
  }

  void donations() {
    std::vector<bool> donors(trace_.inputs.size(), false);
    std::vector<bool> takers(trace_.outputs.size(), false);
    std::vector<std::size_t> returned(trace_.values.size(), 0);  // by value: how many outputs it is
    for (const ValueId output : trace_.outputs) ++returned[output.index()];
    for (const Donation& donation : trace_.donations) {
      if (donation.input >= trace_.inputs.size() || donation.output >= trace_.outputs.size()) {
        problem(fmt::format("a donation names input {} of {} and output {} of {}", donation.input, trace_.inputs.size(),
                            donation.output, trace_.outputs.size()));
        continue;
      }
      const ValueId from = trace_.inputs[donation.input].value;
      const ValueId to = trace_.outputs[donation.output];
      const auto pair = [&] { return fmt::format("%{} -> %{}", trace_[from].name, trace_[to].name); };
      if (donors[donation.input]) problem(fmt::format("an input is donated twice: {}", pair()));
      if (takers[donation.output]) problem(fmt::format("an output takes two inputs' storage: {}", pair()));
      donors[donation.input] = true;
      takers[donation.output] = true;
      if (trace_.type(from) != trace_.type(to)) {
        problem(fmt::format("a donated input and its output differ in type: {}: {} and {}", pair(), trace_.type(from).str(),
                            trace_.type(to).str()));
      }
      if (trace_.inputs[donation.input].role == Role::scalar) problem(fmt::format("a scalar input has no storage to donate: {}", pair()));
      if (returned[from.index()] > (to == from ? 1U : 0U)) {
        problem(fmt::format("an input is donated and returned as another output, copy it first: {}", pair()));
      }
    }
  }

  const Trace& trace_;
  std::string path_;
  std::vector<std::string>& problems_;
  std::vector<bool> defined_;
  std::vector<TensorType> input_types_;  // of the node at hand
};

}  // namespace

std::vector<std::string> verify(const Trace& trace) {
  std::vector<std::string> problems;
  Verifier(trace, trace.name, problems).run();
  if (problems.empty()) observe_trace(trace);
  return problems;
}

void verify_or_throw(const Trace& trace, std::string_view stage) {
  const std::vector<std::string> problems = verify(trace);
  if (problems.empty()) return;
  constexpr std::size_t shown = 8;
  std::string text = fmt::format("{} made an ill-formed trace:", stage);
  for (std::size_t i = 0; i < std::min(shown, problems.size()); ++i) text += "\n  " + problems[i];
  if (problems.size() > shown) text += fmt::format("\n  and {} more", problems.size() - shown);
  throw InternalError(text);
}

}  // namespace reprise
