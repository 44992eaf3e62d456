// SPDX-License-Identifier: Apache-2.0
// Reductions of dense inputs: over everything, over trailing dimensions (rows), over one run of leading or middle dimensions (columns).
// What mixes kept and reduced dimensions otherwise is left to the next executor.
#include <algorithm>

#include "base/thread_pool.h"
#include "executor/loops/registry.h"
#include "ops/reduction_eval.h"

namespace reprise::loops {
namespace {

/// [outer kept, reduced, inner kept] of a dense input.
struct ReduceShape {
  reduction::Rule rule = reduction::Rule::full;
  std::int64_t outer = 1;
  std::int64_t reduced = 1;
  std::int64_t inner = 1;
};

std::optional<ReduceShape> reduce_shape(const Shape& shape, std::uint64_t set) {
  ReduceShape result;
  result.rule = reduction::reduction_rule(shape.rank(), set);
  int part = 0;  // 0: outer, 1: reduced, 2: inner
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const bool reduces = ((set >> d) & 1u) != 0;
    if (shape[d] == 1) continue;
    if (reduces && part == 0) part = 1;
    if (!reduces && part == 1) part = 2;
    if (reduces && part == 2) return std::nullopt;
    (reduces ? result.reduced : part == 0 ? result.outer : result.inner) *= shape[d];
  }
  if (result.rule == reduction::Rule::row && result.inner != 1) return std::nullopt;
  return result;
}

std::optional<ReduceShape> node_shape(const Node& node, const Shape& shape) {
  if (node.opcode == op::sum_squares) return ReduceShape{reduction::Rule::full, 1, shape.numel(), 1};
  return reduce_shape(shape, reduced_dims(shape, node.as<ReduceAttrs>().dims));
}

/// Bytes of leaf results of a full reduction.
std::int64_t leaf_bytes(const TensorType& input) {
  const std::size_t size = input.dtype == DType::float64 ? 8 : 4;
  return static_cast<std::int64_t>(reduction::leaf_count(static_cast<std::size_t>(input.shape.numel())) * size);
}

std::optional<Claim> claim_reduce(const ClaimRequest& request) {
  if (!is_computed(request.inputs[0].dtype)) return std::nullopt;
  const auto shape = node_shape(request.node, request.inputs[0].shape);
  if (!shape) return std::nullopt;
  Claim claim;
  if (shape->rule == reduction::Rule::full) claim.workspace_bytes = leaf_bytes(request.inputs[0]);
  return claim;
}

template <class E, class T>
Kernel full_kernel(const RowTable<E, T>& table, Reduce op, std::size_t n, double correction, bool wide_result) {
  return [&table, op, n, correction, wide_result](const KernelCall& call) {
    const auto* const x = call.inputs[0].as<const E>();
    auto* const leaves = reinterpret_cast<T*>(call.workspace.data());
    const std::size_t count = reduction::leaf_count(n);
    const auto pass = [&](Reduce which, T mean) {
      call.pool.parallel_for(count,
                             [&](std::size_t begin, std::size_t end, int) { table.reduce_leaves(which, x, n, mean, leaves, begin, end); });
    };
    T mean = T(0);
    if (op == Reduce::var || op == Reduce::standard_deviation) {
      pass(Reduce::sum, T(0));
      mean = table.finish_leaves(Reduce::mean, leaves, count, n, 0);
    }
    pass(op, mean);
    const T result = table.finish_leaves(op, leaves, count, n, correction);
    if (wide_result) {
      *call.outputs[0].as<T>() = result;
    } else {
      attention::narrow(*call.outputs[0].as<E>(), result);
    }
  };
}

template <class E, class T>
Kernel reduce_kernel(const RowTable<E, T>& table, Reduce op, const ReduceShape& shape, double correction, bool wide_result) {
  const auto n = static_cast<std::size_t>(shape.reduced);
  if (shape.rule == reduction::Rule::full) return full_kernel(table, op, n, correction, wide_result);
  if (shape.rule == reduction::Rule::row) {
    return [&table, op, shape, n, correction](const KernelCall& call) {
      call.pool.parallel_for(static_cast<std::size_t>(shape.outer), [&](std::size_t begin, std::size_t end, int) {
        table.reduce_rows(op, call.inputs[0].as<const E>(), shape.reduced, n, correction, call.outputs[0].as<E>(), begin, end);
      });
    };
  }
  return [&table, op, shape, n, correction](const KernelCall& call) {
    constexpr std::int64_t kStrip = 64;  // columns a thread takes at least
    const std::int64_t strips = (shape.inner + kStrip - 1) / kStrip;
    call.pool.parallel_for(static_cast<std::size_t>(shape.outer * strips), [&](std::size_t begin, std::size_t end, int) {
      for (auto item = static_cast<std::int64_t>(begin); item < static_cast<std::int64_t>(end);) {
        const std::int64_t outer = item / strips;
        const std::int64_t last =
            std::min<std::int64_t>(static_cast<std::int64_t>(end), (outer + 1) * strips);  // strips of this outer index
        table.reduce_columns(op, call.inputs[0].as<const E>() + outer * shape.reduced * shape.inner, n,
                             static_cast<std::size_t>(shape.inner), correction, call.outputs[0].as<E>() + outer * shape.inner,
                             static_cast<std::size_t>((item - outer * strips) * kStrip),
                             static_cast<std::size_t>(std::min(shape.inner, (last - outer * strips) * kStrip)));
        item = last;
      }
    });
  };
}

template <Reduce kOp>
Kernel bind_reduce(const BindRequest& request, const Kernels& kernels) {
  const TensorType& input = *request.inputs[0].type;
  const ReduceShape shape = *node_shape(request.node, input.shape);
  const auto correction = static_cast<double>(request.node.as<ReduceAttrs>().correction);
  return with_row_table(input.dtype, kernels, [&](const auto& table) { return reduce_kernel(table, kOp, shape, correction, false); });
}

template <>
Kernel bind_reduce<Reduce::sum_squares>(const BindRequest& request, const Kernels& kernels) {
  const TensorType& input = *request.inputs[0].type;
  const ReduceShape shape = *node_shape(request.node, input.shape);
  return with_row_table(input.dtype, kernels, [&](const auto& table) { return reduce_kernel(table, Reduce::sum_squares, shape, 0, true); });
}

}  // namespace

void register_reductions(Registry& registry) {
  registry.add(op::sum, {claim_reduce, bind_reduce<Reduce::sum>});
  registry.add(op::mean, {claim_reduce, bind_reduce<Reduce::mean>});
  registry.add(op::amax, {claim_reduce, bind_reduce<Reduce::amax>});
  registry.add(op::amin, {claim_reduce, bind_reduce<Reduce::amin>});
  registry.add(op::prod, {claim_reduce, bind_reduce<Reduce::prod>});
  registry.add(op::var, {claim_reduce, bind_reduce<Reduce::var>});
  registry.add(op::std, {claim_reduce, bind_reduce<Reduce::standard_deviation>});
  registry.add(op::norm2, {claim_reduce, bind_reduce<Reduce::norm2>});
  registry.add(op::sum_squares, {claim_reduce, bind_reduce<Reduce::sum_squares>});
}

}  // namespace reprise::loops
