// SPDX-License-Identifier: Apache-2.0
#include "interpreter/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "interpreter/strided_copy.h"
#include "ir/printer.h"
#include "ir/trace_observer.h"
#include "ops/decomposition.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

/// Bytes that one or more values lie in: owned, or those of a caller's input that nothing writes.
struct Storage {
  explicit Storage(std::size_t bytes) : owned(bytes), data(owned.data()) {}
  explicit Storage(std::byte* borrowed) : data(borrowed) {}
  std::vector<std::byte> owned;
  std::byte* data;
};

struct Slot {
  std::shared_ptr<Storage> storage;
  Layout layout;
};

Slot fresh_slot(const TensorType& type) {
  return {std::make_shared<Storage>(static_cast<std::size_t>(type.bytes())), {0, type.shape.dense_strides()}};
}

bool fits(const TensorType& given, const TensorType& wanted) {
  return given.dtype == wanted.dtype && given.shape.extents() == wanted.shape.extents();
}

class Run {
 public:
  Run(const Trace& trace, const InterpretOptions& options) : trace_(trace), options_(options), slots_(trace.values.size()) {}

  void set_inputs(std::span<const ArrayRef> inputs) {
    if (inputs.size() != trace_.inputs.size()) {
      throw UserError(fmt::format("trace '{}' takes {} inputs, given {}", trace_.name, trace_.inputs.size(), inputs.size()));
    }
    const bool written = std::any_of(trace_.nodes.begin(), trace_.nodes.end(), [](const Node& node) { return node.in_place; });
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ValueId id = trace_.inputs[i].value;
      const TensorType& type = trace_.type(id);
      if (!fits(*inputs[i].type, type)) {
        throw UserError(
            fmt::format("input %{} of trace '{}' is {}, given {}", trace_[id].name, trace_.name, type.str(), inputs[i].type->str()));
      }
      if (written) {
        Slot& slot = slots_[id.index()] = fresh_slot(type);
        if (type.bytes() != 0) std::memcpy(slot.storage->data, inputs[i].data, static_cast<std::size_t>(type.bytes()));
      } else {
        slots_[id.index()] = {std::make_shared<Storage>(static_cast<std::byte*>(inputs[i].data)), {0, type.shape.dense_strides()}};
      }
    }
  }

  void run() {
    const std::vector<std::size_t> last_use = last_uses();
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      const Node& node = trace_.nodes[n];
      run_node(node);
      if (options_.observe) observe(NodeId(n));
      const auto release = [&](ValueId id) {
        if (last_use[id.index()] == n) slots_[id.index()] = {};
      };
      std::for_each(node.inputs.begin(), node.inputs.end(), release);
      std::for_each(node.outputs.begin(), node.outputs.end(), release);
    }
  }

  /// Writes the dense elements of a value.
  void read(ValueId id, void* dense) const {
    const Slot& slot = slots_[id.index()];
    const TensorType& type = trace_.type(id);
    if (type.bytes() == 0) return;
    if (is_dense(type.shape, slot.layout)) {
      std::memcpy(dense, address(type, slot), static_cast<std::size_t>(type.bytes()));
    } else {
      gather_strided(type.shape, slot.layout, dtype_size(type.dtype), slot.storage->data, static_cast<std::byte*>(dense));
    }
  }

 private:
  static constexpr std::size_t kKeep = SIZE_MAX;

  std::vector<std::size_t> last_uses() const {
    std::vector<std::size_t> last(trace_.values.size(), kKeep);
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      for (const ValueId id : trace_.nodes[n].outputs) last[id.index()] = n;
      for (const ValueId id : trace_.nodes[n].inputs) last[id.index()] = n;
    }
    for (const ValueId id : trace_.outputs) last[id.index()] = kKeep;
    return last;
  }

  static std::byte* address(const TensorType& type, const Slot& slot) {
    return slot.storage->data + static_cast<std::size_t>(slot.layout.offset) * dtype_size(type.dtype);
  }

  void run_node(const Node& node) {
    const OpRow& row = op_row(node.opcode);
    if (has_trait(row.traits, Trait::random)) {
      throw UserError(fmt::format("op '{}' draws from the generator, whose draws have no numbers yet; run the rng pass first",
                                  opcode_name(node.opcode)));
    }
    if (row.layout && !node.in_place && share(node, row)) return;
    std::vector<std::vector<std::byte>> gathered;
    std::vector<ArrayRef> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(dense_input(id, gathered));
    std::vector<Slot> results;
    std::vector<ArrayRef> outputs;
    for (const ValueId id : node.outputs) {
      results.push_back(fresh_slot(trace_.type(id)));
      outputs.push_back({&trace_.type(id), results.back().storage->data});
    }
    evaluate_node(node, inputs, outputs);
    if (node.in_place) results.at(0) = write_through(node, results[0]);
    for (std::size_t i = 0; i < results.size(); ++i) slots_[node.outputs[i].index()] = std::move(results[i]);
  }

  bool share(const Node& node, const OpRow& row) {
    const Slot& from = slots_[node.inputs.at(0).index()];
    std::optional<Layout> layout = row.layout(node, trace_.type(node.inputs[0]), from.layout);
    if (!layout) return false;
    slots_[node.outputs.at(0).index()] = Slot{from.storage, std::move(*layout)};
    return true;
  }

  ArrayRef dense_input(ValueId id, std::vector<std::vector<std::byte>>& gathered) const {
    const Slot& slot = slots_[id.index()];
    const TensorType& type = trace_.type(id);
    REPRISE_CHECK(slot.storage != nullptr, fmt::format("%{} of trace '{}' is read before it is defined", trace_[id].name, trace_.name));
    if (is_dense(type.shape, slot.layout)) return {&type, address(type, slot)};
    gathered.emplace_back(static_cast<std::size_t>(type.bytes()));
    read(id, gathered.back().data());
    return {&type, gathered.back().data()};
  }

  /// An in-place node wrote `result` beside; puts it where its first input lies, and names that place.
  Slot write_through(const Node& node, const Slot& result) {
    const Slot& target = slots_[node.inputs.at(0).index()];
    const TensorType& type = trace_.type(node.inputs[0]);
    if (may_overlap(type.shape, target.layout)) {
      throw UserError(fmt::format(
          "an in-place op cannot write a tensor whose elements share places (expanded, or windows that overlap); copy it first: {}",
          print_node(trace_, node_id(node))));
    }
    scatter_strided(type.shape, target.layout, dtype_size(type.dtype), result.storage->data, target.storage->data);
    return target;
  }

  NodeId node_id(const Node& node) const { return NodeId(static_cast<std::size_t>(&node - trace_.nodes.data())); }

  void observe(NodeId id) const {
    std::vector<HostTensor> outputs;
    for (const ValueId output : trace_[id].outputs) {
      outputs.emplace_back(trace_.type(output));
      read(output, outputs.back().bytes().data());
    }
    options_.observe(trace_, id, outputs);
  }

  const Trace& trace_;
  const InterpretOptions& options_;
  std::vector<Slot> slots_;
};

void run_dense(const Trace& trace, std::span<const ArrayRef> inputs, std::span<const ArrayRef> outputs) {
  const InterpretOptions silent;
  Run run(trace, silent);
  run.set_inputs(inputs);
  run.run();
  REPRISE_CHECK(outputs.size() == trace.outputs.size(),
                fmt::format("trace '{}' returns {} values, wanted {}", trace.name, trace.outputs.size(), outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    REPRISE_CHECK(fits(trace.type(trace.outputs[i]), *outputs[i].type),
                  fmt::format("trace '{}' returns another type than its node", trace.name));
    run.read(trace.outputs[i], outputs[i].data);
  }
}

std::vector<TensorType> types_of(std::span<const ArrayRef> arrays) {
  std::vector<TensorType> types;
  for (const ArrayRef& array : arrays) types.push_back(*array.type);
  return types;
}

}  // namespace

void evaluate_node(const Node& node, std::span<const ArrayRef> inputs, std::span<const ArrayRef> outputs, std::span<std::byte> workspace) {
  const OpRow& row = op_row(node.opcode);
  if (!row.evaluate || compiled_as_parts(row)) return run_dense(decomposition(node, types_of(inputs)), inputs, outputs);
  static const EvalContext::RunBody run_body = run_dense;
  EvalContext context(node, inputs, outputs, run_body, workspace);
  row.evaluate(context);
}

void evaluate_node(const Node& node, std::span<const ArrayRef> inputs, std::span<const ArrayRef> outputs) {
  const OpRow& row = op_row(node.opcode);
  if (!row.workspace) return evaluate_node(node, inputs, outputs, {});
  constexpr std::size_t kAlignment = 64;
  const auto bytes = static_cast<std::size_t>(row.workspace(node, types_of(inputs), types_of(outputs)));
  std::vector<std::byte> scratch(bytes + kAlignment);
  void* start = scratch.data();
  std::size_t room = scratch.size();
  std::align(kAlignment, bytes, start, room);
  evaluate_node(node, inputs, outputs, {static_cast<std::byte*>(start), bytes});
}

std::vector<HostTensor> interpret(const Trace& trace, std::span<const HostTensor> inputs, const InterpretOptions& options) {
  observe_trace(trace);
  std::vector<ArrayRef> arrays;
  for (const HostTensor& input : inputs) {
    arrays.push_back({&input.type(), const_cast<std::byte*>(input.bytes().data())});  // only read: see Run::set_inputs
  }
  Run run(trace, options);
  run.set_inputs(arrays);
  run.run();
  std::vector<HostTensor> outputs;
  for (const ValueId id : trace.outputs) {
    outputs.emplace_back(trace.type(id));
    run.read(id, outputs.back().bytes().data());
  }
  return outputs;
}

}  // namespace reprise
