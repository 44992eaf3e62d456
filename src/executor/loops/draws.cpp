// SPDX-License-Identifier: Apache-2.0
// Philox draws: element i of a value reads word offset + draw + i, whoever computes it.
#include "base/thread_pool.h"
#include "executor/loops/registry.h"

namespace reprise::loops {
namespace {

constexpr std::size_t kRun = 1024;  // elements a thread takes at least; a multiple of a block's four words

struct Stream {
  std::uint64_t seed, first;
};

Stream stream(const KernelCall& call, std::size_t i, std::int64_t draw) {
  return {static_cast<std::uint64_t>(*call.inputs[i].as<const std::int64_t>()),
          static_cast<std::uint64_t>(*call.inputs[i + 1].as<const std::int64_t>() + draw)};
}

std::optional<Claim> claim_fill(const ClaimRequest& request) {
  if (!is_computed(request.outputs[0].dtype) || request.outputs[0].dtype == DType::bfloat16) return std::nullopt;
  return Claim{};
}

std::optional<Claim> claim_dropout(const ClaimRequest& request) {
  if (!is_computed(request.inputs[0].dtype)) return std::nullopt;
  Claim claim;
  claim.in_place = {{0, 0}};
  return claim;
}

template <bool kNormal>
Kernel bind_fill(const BindRequest& request, const Kernels& kernels) {
  const std::int64_t draw = request.node.as<PhiloxAttrs>().draw;
  const auto n = static_cast<std::size_t>(request.outputs[0].type->shape.numel());
  return with_row_table(request.outputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [function = kNormal ? table.normal : table.uniform, draw, n](const KernelCall& call) {
      const Stream words = stream(call, 0, draw);
      call.pool.parallel_for((n + kRun - 1) / kRun, [&](std::size_t begin, std::size_t end, int) {
        function(call.outputs[0].as<E>(), words.seed, words.first, begin * kRun, end * kRun < n ? end * kRun : n);
      });
    };
  });
}

Kernel bind_dropout(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<PhiloxAttrs>();
  const auto n = static_cast<std::size_t>(request.inputs[0].type->shape.numel());
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [function = table.dropout, draw = attrs.draw, p = static_cast<T>(attrs.p), n](const KernelCall& call) {
      const Stream words = stream(call, 1, draw);
      call.pool.parallel_for((n + kRun - 1) / kRun, [&](std::size_t begin, std::size_t end, int) {
        function(call.inputs[0].as<const E>(), call.outputs[0].as<E>(), p, words.seed, words.first, begin * kRun,
                 end * kRun < n ? end * kRun : n);
      });
    };
  });
}

}  // namespace

void register_draws(Registry& registry) {
  registry.add(op::philox_uniform, {claim_fill, bind_fill<false>});
  registry.add(op::philox_normal, {claim_fill, bind_fill<true>});
  registry.add(op::philox_dropout, {claim_dropout, bind_dropout});
}

}  // namespace reprise::loops
