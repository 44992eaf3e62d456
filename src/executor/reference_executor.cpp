// SPDX-License-Identifier: Apache-2.0
#include "executor/reference_executor.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "interpreter/interpreter.h"
#include "interpreter/strided_copy.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

/// A trace of this node alone.
Trace alone(const BindRequest& request) {
  Trace trace;
  Node node = request.node;
  node.inputs.clear();
  for (const TensorView& input : request.inputs) node.inputs.push_back(trace.add_input(*input.type, Role::batch, "x"));
  std::vector<TensorType> types;
  for (const TensorView& output : request.outputs) types.push_back(*output.type);
  const NodeId id = trace.add_node(std::move(node), types, "y");
  trace.outputs = trace[id].outputs;
  return trace;
}

HostTensor gathered(const TensorView& view) {
  HostTensor tensor(*view.type);
  const Layout layout{0, {view.strides.begin(), view.strides.end()}};
  gather_strided(view.type->shape, layout, dtype_size(view.type->dtype), view.data, tensor.bytes().data());
  return tensor;
}

/// Whether the node is a user's op that only its own `evaluate` can run.
bool is_opaque(const Node& node) {
  return is_user_op(node.opcode) && !compiled_as_parts(op_row(node.opcode));
}

/// Such an op computes on the arena itself: dense arrays and a planned workspace.
Claim claim_opaque(const ClaimRequest& request) {
  Claim claim;
  const OpRow& row = op_row(request.node.opcode);
  if (row.workspace) claim.workspace_bytes = row.workspace(request.node, request.inputs, request.outputs);
  if (claim.workspace_bytes < 0) fail_op(request.node.opcode, fmt::format("asks for a workspace of {} bytes", claim.workspace_bytes));
  return claim;
}

Kernel bind_opaque(const BindRequest& request) {
  std::vector<ArrayRef> arrays;
  for (const auto views : {request.inputs, request.outputs}) {
    for (const TensorView& view : views) arrays.push_back({view.type, nullptr});
  }
  return [&node = request.node, arrays](const KernelCall& call) mutable {
    std::size_t next = 0;
    for (const auto views : {call.inputs, call.outputs}) {
      for (const TensorView& view : views) arrays[next++].data = view.data;
    }
    const std::span<const ArrayRef> all = arrays;
    evaluate_node(node, all.first(call.inputs.size()), all.subspan(call.inputs.size()), call.workspace);
  };
}

class ReferenceExecutor final : public Executor {
 public:
  std::string_view name() const override { return "reference"; }

  std::optional<Claim> claim(const ClaimRequest& request) const override {
    const OpRow& row = op_row(request.node.opcode);
    if (!row.evaluate && !row.decompose) return std::nullopt;
    if (is_opaque(request.node)) return claim_opaque(request);
    Claim claim;
    claim.layouts.assign(request.inputs.size(), InputLayout::any);
    // Results are made beside the arena and copied in at the end: any output may land on any input.
    for (std::uint32_t output = 0; output < request.outputs.size(); ++output) {
      for (std::uint32_t input = 0; input < request.inputs.size(); ++input) {
        if (request.inputs[input].bytes() == request.outputs[output].bytes()) claim.in_place.push_back({input, output});
      }
    }
    return claim;
  }

  Kernel bind(const BindRequest& request) const override {
    if (is_opaque(request.node)) return bind_opaque(request);
    return [trace = std::make_shared<const Trace>(alone(request))](const KernelCall& call) {
      std::vector<HostTensor> inputs;
      for (const TensorView& view : call.inputs) inputs.push_back(gathered(view));
      const std::vector<HostTensor> outputs = interpret(*trace, inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto bytes = outputs[i].bytes();
        if (!bytes.empty()) std::memcpy(call.outputs[i].data, bytes.data(), bytes.size());
      }
    };
  }
};

}  // namespace

const Executor& reference_executor() {
  static const ReferenceExecutor instance;
  return instance;
}

}  // namespace reprise
