// SPDX-License-Identifier: Apache-2.0
// Attention: query heads are split over threads going forward, key heads going backward. What the tiles do not cover goes row by row
// through the contract's own formula (base/attention_formula.h).
#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "executor/loops/registry.h"
#include "ops/attention_config.h"

namespace reprise::loops {
namespace {

/// Where an attention node's inputs stand; -1: absent.
struct Places {
  int q = 0, k = 1, v = 2, out = -1, lse = -1, gout = -1, bias = -1, mask = -1, segments = -1, seed = -1;
  Places(const AttentionAttrs& attrs, bool backward) {
    int next = 3;
    if (backward) out = next++, lse = next++, gout = next++;
    if (attrs.has_bias) bias = next++;
    if (attrs.has_mask) mask = next++;
    if (attrs.has_segments) segments = next++;
    if (attrs.dropout > 0) seed = next;  // and the offset after it
  }
};

/// Elements of workspace one thread needs, whichever path it takes.
std::size_t thread_elements(const attention::Config& config, const Kernels& kernels, DType dtype, bool backward) {
  const auto keys = static_cast<std::size_t>(config.keys);
  const auto widths = static_cast<std::size_t>(config.width + config.value_width);
  std::size_t elements = backward ? keys * widths + static_cast<std::size_t>(config.width)
                                  : reduction::kKeyBlock + static_cast<std::size_t>(config.value_width);
  if (dtype == DType::float32) {
    elements = std::max(elements, backward ? kernels.attention.backward_workspace(config) : kernels.attention.forward_workspace(config));
  }
  return (elements + 15) / 16 * 16;
}

template <bool kBackward>
std::optional<Claim> claim_attention(const ClaimRequest& request) {
  const auto& attrs = request.node.as<AttentionAttrs>();
  const DType dtype = request.inputs[0].dtype;
  const Places at(attrs, kBackward);
  if (!is_computed(dtype)) return std::nullopt;
  Claim claim;
  for (int i = 0; i < static_cast<int>(request.inputs.size()); ++i) {
    const bool matrix = i <= at.v || i == at.out || i == at.gout;
    if ((matrix || i == at.bias) && request.inputs[static_cast<std::size_t>(i)].dtype != dtype) return std::nullopt;
    claim.layouts.push_back(matrix ? InputLayout::rows : i == at.bias || i == at.mask ? InputLayout::any : InputLayout::dense);
  }
  const attention::Config config = attention_config(attrs, request.inputs[0].shape, request.inputs[1].shape, request.inputs[2].shape);
  const std::size_t element = dtype == DType::float64 ? 8 : 4;
  const std::size_t elements = thread_elements(config, kernels_for(request.target.isa), dtype, kBackward);
  claim.workspace_bytes = static_cast<std::int64_t>(elements * element) * request.threads;
  return claim;
}

/// Strides of an operand of [B, H, T, D] that may broadcast from fewer dimensions.
std::array<std::int64_t, 4> strides4(const TensorView& view) {
  std::array<std::int64_t, 4> strides{};
  const std::size_t missing = 4 - view.type->shape.rank();
  for (std::size_t d = missing; d < 4; ++d) strides[d] = view.type->shape[d - missing] == 1 ? 0 : view.strides[d - missing];
  return strides;
}

std::size_t index(int place) { return static_cast<std::size_t>(place); }

template <class E>
attention::View<E> view4(const TensorView& view, const std::array<std::int64_t, 4>& strides) {
  return {view.as<E>(), {strides[0], strides[1], strides[2], strides[3]}};
}

/// Everything but addresses.
struct Plan {
  attention::Config config;
  Places at;
  AttentionAttrs attrs;
  std::array<std::array<std::int64_t, 4>, 11> inputs{};
  std::array<std::array<std::int64_t, 4>, 4> outputs{};
  std::size_t elements = 0;  // of workspace per thread
};

template <bool kBackward>
Plan plan_of(const BindRequest& request, const Kernels& kernels) {
  const auto& attrs = request.node.as<AttentionAttrs>();
  Plan plan{attention_config(attrs, request.inputs[0].type->shape, request.inputs[1].type->shape, request.inputs[2].type->shape),
            Places(attrs, kBackward), attrs, {}, {}, 0};
  for (std::size_t i = 0; i < request.inputs.size() && i < plan.inputs.size(); ++i) {
    if (request.inputs[i].type->shape.rank() <= 4) plan.inputs[i] = strides4(request.inputs[i]);
  }
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    const auto dense = request.outputs[i].type->shape.dense_strides();
    std::copy(dense.begin(), dense.end(), plan.outputs[i].begin());
  }
  // output and cotangent lie by tokens, [B, T, H, D]; the formula names the head first
  const auto by_tokens = [](std::array<std::int64_t, 4>& strides) { std::swap(strides[1], strides[2]); };
  if (kBackward) {
    by_tokens(plan.inputs[index(plan.at.out)]);
    by_tokens(plan.inputs[index(plan.at.gout)]);
  } else {
    by_tokens(plan.outputs[0]);
  }
  plan.elements = thread_elements(plan.config, kernels, request.inputs[0].type->dtype, kBackward);
  return plan;
}

template <class E>
attention::Inputs<E> inputs_of(const Plan& plan, const KernelCall& call) {
  attention::Inputs<E> inputs;
  inputs.q = view4<const E>(call.inputs[index(plan.at.q)], plan.inputs[index(plan.at.q)]);
  inputs.k = view4<const E>(call.inputs[index(plan.at.k)], plan.inputs[index(plan.at.k)]);
  inputs.v = view4<const E>(call.inputs[index(plan.at.v)], plan.inputs[index(plan.at.v)]);
  if (plan.at.bias >= 0) inputs.bias = view4<const E>(call.inputs[index(plan.at.bias)], plan.inputs[index(plan.at.bias)]);
  if (plan.at.mask >= 0) inputs.mask = view4<const std::uint8_t>(call.inputs[index(plan.at.mask)], plan.inputs[index(plan.at.mask)]);
  if (plan.at.segments >= 0) inputs.segments = call.inputs[index(plan.at.segments)].as<const std::int64_t>();
  return inputs;
}

attention::Config call_config(const Plan& plan, const KernelCall& call) {
  attention::Config config = plan.config;
  if (plan.at.seed >= 0) {
    const auto seed = static_cast<std::size_t>(plan.at.seed);
    config.seed = static_cast<std::uint64_t>(*call.inputs[seed].as<const std::int64_t>());
    config.draw_offset = static_cast<std::uint64_t>(*call.inputs[seed + 1].as<const std::int64_t>() + plan.attrs.draw);
  }
  return config;
}

template <class E, class T>
Kernel forward_kernel(const Plan& plan, const AttentionRows<E, T>& rows, const AttentionTable& tiles) {
  return [plan, &rows, &tiles](const KernelCall& call) {
    const attention::Config config = call_config(plan, call);
    const attention::Inputs<E> inputs = inputs_of<E>(plan, call);
    const attention::View<E> out = view4<E>(call.outputs[0], plan.outputs[0]);
    auto* const lse = call.outputs[1].as<T>();
    call.pool.parallel_for(static_cast<std::size_t>(config.batch * config.q_heads), [&](std::size_t begin, std::size_t end, int thread) {
      T* const workspace = reinterpret_cast<T*>(call.workspace.data()) + static_cast<std::size_t>(thread) * plan.elements;
      for (auto item = static_cast<std::int64_t>(begin); item < static_cast<std::int64_t>(end); ++item) {
        const std::int64_t batch = item / config.q_heads;
        const std::int64_t head = item % config.q_heads;
        if constexpr (std::is_same_v<E, float>) {
          if (tiles.forward_takes(config, inputs, batch, head)) {
            tiles.forward_tiles(config, inputs, out, lse, batch, head, workspace);
            continue;
          }
        }
        rows.forward(config, inputs, out, lse, batch, head, workspace);
      }
    });
  };
}

template <class E, class T>
Kernel backward_kernel(const Plan& plan, const AttentionRows<E, T>& rows, const AttentionTable& tiles) {
  return [plan, &rows, &tiles](const KernelCall& call) {
    const attention::Config config = call_config(plan, call);
    const attention::Inputs<E> inputs = inputs_of<E>(plan, call);
    const auto out = view4<const E>(call.inputs[index(plan.at.out)], plan.inputs[index(plan.at.out)]);
    const auto dout = view4<const E>(call.inputs[index(plan.at.gout)], plan.inputs[index(plan.at.gout)]);
    const auto* const lse = call.inputs[index(plan.at.lse)].as<const T>();
    attention::Gradients<E> grads;
    grads.dq = view4<E>(call.outputs[0], plan.outputs[0]);
    grads.dk = view4<E>(call.outputs[1], plan.outputs[1]);
    grads.dv = view4<E>(call.outputs[2], plan.outputs[2]);
    call.pool.parallel_for(static_cast<std::size_t>(config.batch * config.kv_heads), [&](std::size_t begin, std::size_t end, int thread) {
      T* const workspace = reinterpret_cast<T*>(call.workspace.data()) + static_cast<std::size_t>(thread) * plan.elements;
      for (auto item = static_cast<std::int64_t>(begin); item < static_cast<std::int64_t>(end); ++item) {
        const std::int64_t batch = item / config.kv_heads;
        const std::int64_t head = item % config.kv_heads;
        if constexpr (std::is_same_v<E, float>) {
          if (tiles.backward_takes(config, inputs)) {
            tiles.backward_tiles(config, inputs, out, dout, lse, grads, batch, head, workspace);
            continue;
          }
        }
        rows.backward(config, inputs, out, dout, lse, grads, batch, head, workspace);
      }
    });
  };
}

template <bool kBackward>
Kernel bind_attention(const BindRequest& request, const Kernels& kernels) {
  const Plan plan = plan_of<kBackward>(request, kernels);
  const auto make = [&](const auto& rows) -> Kernel {
    if constexpr (kBackward) {
      return backward_kernel(plan, rows, kernels.attention);
    } else {
      return forward_kernel(plan, rows, kernels.attention);
    }
  };
  switch (request.inputs[0].type->dtype) {
    case DType::float64: return make(kernels.attention_f64);
    case DType::bfloat16: return make(kernels.attention_bf16);
    default: return make(kernels.attention_f32);
  }
}

/// The gradient of a bias is a fourth output in the bias's own shape, which may be summed down: left to the next executor.
std::optional<Claim> claim_backward(const ClaimRequest& request) {
  if (request.node.as<AttentionAttrs>().has_bias) return std::nullopt;
  return claim_attention<true>(request);
}

}  // namespace

void register_attention(Registry& registry) {
  registry.add(op::attention, {claim_attention<false>, bind_attention<false>});
  registry.add(op::attention_backward, {claim_backward, bind_attention<true>});
}

}  // namespace reprise::loops
