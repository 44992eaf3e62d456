// SPDX-License-Identifier: Apache-2.0
// The optimizer's part of a step: the clipping coefficient and the AdamW update, both in place where the trace donates.
#include <fmt/format.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "executor/loops/registry.h"

namespace reprise::loops {
namespace {

std::optional<Claim> claim_scalar(const ClaimRequest& request) {
  if (request.inputs[0].dtype != DType::float32 && request.inputs[0].dtype != DType::float64) return std::nullopt;
  return Claim{};
}

template <class T>
void clip_coefficient(const KernelCall& call, double max_norm) {
  const T factor = static_cast<T>(max_norm) / (math::sqrt(*call.inputs[0].as<const T>()) + static_cast<T>(1e-6));
  *call.outputs[0].as<T>() = math::minimum(T(1), factor);
}

Kernel bind_clip_coefficient(const BindRequest& request, const Kernels&) {
  const double max_norm = request.node.as<ScalarAttrs>().value;
  if (request.inputs[0].type->dtype == DType::float64) {
    return [max_norm](const KernelCall& call) { clip_coefficient<double>(call, max_norm); };
  }
  return [max_norm](const KernelCall& call) { clip_coefficient<float>(call, max_norm); };
}

/// Inputs p, g, m, v, lr, step, then those that the attributes name.
struct AdamWPlaces {
  std::size_t coefficient = 6, master = 6, seed = 6;
  explicit AdamWPlaces(const AdamWAttrs& attrs) {
    master = coefficient + (attrs.has_coefficient ? 1 : 0);
    seed = master + (attrs.has_master ? 1 : 0);
  }
};

std::optional<Claim> claim_adamw(const ClaimRequest& request) {
  const auto& attrs = request.node.as<AdamWAttrs>();
  const DType p = request.inputs[0].dtype;
  const DType g = request.inputs[1].dtype;
  if (!is_computed(p) || (g != p && g != DType::float32)) return std::nullopt;
  Claim claim;
  claim.in_place = {{0, 0}, {2, 1}, {3, 2}};
  if (attrs.has_master) claim.in_place.push_back({static_cast<std::uint32_t>(AdamWPlaces(attrs).master), 3});
  return claim;
}

/// Elements a thread takes at least.
constexpr std::size_t kRun = 2048;

template <class F>
void over_elements(const KernelCall& call, std::size_t n, const F& f) {
  call.pool.parallel_for((n + kRun - 1) / kRun,
                         [&](std::size_t begin, std::size_t end, int) { f(begin * kRun, end * kRun < n ? end * kRun : n); });
}

template <class T>
optimizer::AdamWStep<T> step_of(const AdamWAttrs& attrs, const KernelCall& call) {
  const std::int64_t t = *call.inputs[5].as<const std::int64_t>();
  if (t < 1) throw UserError(fmt::format("adamw: steps count from 1: {}", t));
  return optimizer::adamw_step<T>(static_cast<double>(*call.inputs[4].as<const T>()), attrs.beta1, attrs.beta2, attrs.eps,
                                  attrs.weight_decay, t);
}

template <class T>
T coefficient_of(const AdamWAttrs& attrs, const KernelCall& call) {
  return attrs.has_coefficient ? *call.inputs[AdamWPlaces(attrs).coefficient].as<const T>() : T(1);
}

template <class T, class Function>
Kernel plain_adamw(const AdamWAttrs& attrs, std::size_t n, Function function) {
  return [attrs, n, function](const KernelCall& call) {
    const optimizer::AdamWStep<T> step = step_of<T>(attrs, call);
    const T coefficient = coefficient_of<T>(attrs, call);
    over_elements(call, n, [&](std::size_t begin, std::size_t end) {
      function(step, coefficient, call.inputs[0].as<const T>(), call.inputs[1].as<const T>(), call.inputs[2].as<const T>(),
               call.inputs[3].as<const T>(), call.outputs[0].as<T>(), call.outputs[1].as<T>(), call.outputs[2].as<T>(), begin, end);
    });
  };
}

Kernel bind_adamw(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<AdamWAttrs>();
  const auto n = static_cast<std::size_t>(request.inputs[0].type->shape.numel());
  const OptimizerTable& table = kernels.optimizer;
  const DType dtype = request.inputs[0].type->dtype;
  if (dtype == DType::float32) return plain_adamw<float>(attrs, n, table.adamw_f32);
  if (dtype == DType::float64) return plain_adamw<double>(attrs, n, table.adamw_f64);
  const bool wide_gradient = request.inputs[1].type->dtype == DType::float32;
  return [attrs, n, &table, wide_gradient](const KernelCall& call) {
    const AdamWPlaces at(attrs);
    const optimizer::AdamWStep<float> step = step_of<float>(attrs, call);
    const float coefficient = coefficient_of<float>(attrs, call);
    const auto* const narrow = wide_gradient ? nullptr : call.inputs[1].as<const bfloat16>();
    const auto* const wide = wide_gradient ? call.inputs[1].as<const float>() : nullptr;
    if (attrs.has_master) {
      over_elements(call, n, [&](std::size_t begin, std::size_t end) {
        table.adamw_master(step, coefficient, narrow, wide, call.inputs[2].as<const float>(), call.inputs[3].as<const float>(),
                           call.inputs[at.master].as<const float>(), call.outputs[0].as<bfloat16>(), call.outputs[1].as<float>(),
                           call.outputs[2].as<float>(), call.outputs[3].as<float>(), begin, end);
      });
      return;
    }
    AdamWRounding rounding;
    rounding.stochastic = attrs.rounding == Rounding::stochastic;
    if (rounding.stochastic) {
      rounding.seed = static_cast<std::uint64_t>(*call.inputs[at.seed].as<const std::int64_t>());
      rounding.step = static_cast<std::uint64_t>(*call.inputs[5].as<const std::int64_t>());
      rounding.parameter = static_cast<std::uint32_t>(attrs.parameter);
    }
    over_elements(call, n, [&](std::size_t begin, std::size_t end) {
      table.adamw_bf16(step, coefficient, call.inputs[0].as<const bfloat16>(), narrow, wide, call.inputs[2].as<const bfloat16>(),
                       call.inputs[3].as<const bfloat16>(), call.outputs[0].as<bfloat16>(), call.outputs[1].as<bfloat16>(),
                       call.outputs[2].as<bfloat16>(), rounding, begin, end);
    });
  };
}

}  // namespace

void register_step(Registry& registry) {
  registry.add(op::clip_coefficient, {claim_scalar, bind_clip_coefficient});
  registry.add(op::adamw, {claim_adamw, bind_adamw});
}

}  // namespace reprise::loops
