// SPDX-License-Identifier: Apache-2.0
// Pointwise ops: what is claimed of each, and its plan (pointwise_plan.h).
#include <algorithm>
#include <limits>
#include <type_traits>

#include "executor/loops/pointwise_plan.h"
#include "executor/loops/registry.h"

namespace reprise::loops {
namespace {

/// An output that may lie on input k: same bytes, no broadcast.
void add_in_place(Claim& claim, const ClaimRequest& request) {
  const TensorType& out = request.outputs[0];
  for (std::size_t k = 0; k < request.inputs.size(); ++k) {
    const TensorType& in = request.inputs[k];
    if (in.shape == out.shape && dtype_size(in.dtype) == dtype_size(out.dtype)) {
      claim.in_place.push_back({static_cast<std::uint32_t>(k), 0});
    }
  }
}

Claim pointwise_claim(const ClaimRequest& request) {
  Claim claim;
  claim.layouts.assign(request.inputs.size(), InputLayout::any);
  add_in_place(claim, request);
  return claim;
}

bool has_dtype(const ClaimRequest& request, bool (*accepts)(DType)) {
  return std::all_of(request.inputs.begin(), request.inputs.end(), [&](const TensorType& type) { return accepts(type.dtype); });
}

bool is_number(DType dtype) { return is_computed(dtype) || dtype == DType::int32 || dtype == DType::int64; }

/// Ops on floating types alone.
std::optional<Claim> claim_reals(const ClaimRequest& request) {
  if (!has_dtype(request, is_computed)) return std::nullopt;
  return pointwise_claim(request);
}

std::optional<Claim> claim_numbers(const ClaimRequest& request) {
  if (!has_dtype(request, is_number)) return std::nullopt;
  return pointwise_claim(request);
}

std::optional<Claim> claim_any(const ClaimRequest& request) {
  if (!has_dtype(request, [](DType dtype) { return dtype != DType::float16; })) return std::nullopt;
  return pointwise_claim(request);
}

std::optional<Claim> claim_cast(const ClaimRequest& request) {
  const DType from = request.inputs[0].dtype;
  const DType to = request.outputs[0].dtype;
  if (from == DType::float16 || to == DType::float16) return std::nullopt;
  if (is_floating(from) && (to == DType::int32 || to == DType::int64)) return std::nullopt;  // saturates: left to the reference
  return pointwise_claim(request);
}

template <Unary kFunction>
Kernel bind_unary(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.function = static_cast<std::size_t>(kFunction);
  if constexpr (kFunction == Unary::softcap || kFunction == Unary::add_scalar || kFunction == Unary::mul_scalar ||
                kFunction == Unary::div_scalar || kFunction == Unary::pow_scalar) {
    plan.params[0] = request.node.as<ScalarAttrs>().value;
  } else if constexpr (kFunction == Unary::clamp) {
    const auto& attrs = request.node.as<ClampAttrs>();
    plan.params = {attrs.min.value_or(-std::numeric_limits<double>::infinity()),
                   attrs.max.value_or(std::numeric_limits<double>::infinity())};
  } else if constexpr (kFunction == Unary::gelu) {
    if (request.node.as<GeluAttrs>().tanh_form) plan.function = static_cast<std::size_t>(Unary::gelu_tanh);
  }
  return bind_pointwise(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
}

template <Binary kFunction>
Kernel bind_binary(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.kind = PointwiseKind::binary;
  plan.function = static_cast<std::size_t>(kFunction);
  if constexpr (kFunction == Binary::lerp) {
    plan.params[0] = request.node.as<ScalarAttrs>().value;
  } else if constexpr (kFunction == Binary::gelu_backward) {
    if (request.node.as<GeluAttrs>().tanh_form) plan.function = static_cast<std::size_t>(Binary::gelu_tanh_backward);
  }
  return bind_pointwise(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
}

template <Compare kFunction>
Kernel bind_compare(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.kind = PointwiseKind::compare;
  plan.function = static_cast<std::size_t>(kFunction);
  return bind_pointwise(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
}

Kernel bind_logical_not(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.kind = PointwiseKind::logical_not;
  plan.function = static_cast<std::size_t>(Compare::eq);
  return bind_pointwise(plan, request, kernels, DType::int64);
}

Kernel bind_where(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.kind = PointwiseKind::where;
  return bind_pointwise(plan, request, kernels, compute_dtype(request.outputs[0].type->dtype));
}

Kernel bind_masked_fill(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.kind = PointwiseKind::masked_fill;
  plan.params[0] = request.node.as<ScalarAttrs>().value;
  return bind_pointwise(plan, request, kernels, compute_dtype(request.outputs[0].type->dtype));
}

Kernel bind_addcmul(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.kind = PointwiseKind::addcmul;
  plan.params[0] = request.node.as<ScalarAttrs>().value;
  return bind_pointwise(plan, request, kernels, compute_dtype(request.outputs[0].type->dtype));
}

/// Casts compute in their input's type: every conversion then rounds once.
Kernel bind_cast(const BindRequest& request, const Kernels& kernels) {
  PointwisePlan plan;
  plan.function = static_cast<std::size_t>(Unary::copy);
  return bind_pointwise(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
}

}  // namespace

void register_pointwise(Registry& registry) {
#define REPRISE_UNARY_REAL(name) registry.add(op::name, {claim_reals, bind_unary<Unary::name>})
#define REPRISE_UNARY_NUMBER(name) registry.add(op::name, {claim_numbers, bind_unary<Unary::name>})
  REPRISE_UNARY_NUMBER(neg);
  REPRISE_UNARY_NUMBER(abs);
  REPRISE_UNARY_NUMBER(sign);
  REPRISE_UNARY_REAL(floor);
  REPRISE_UNARY_REAL(round);
  REPRISE_UNARY_NUMBER(square);
  REPRISE_UNARY_REAL(sqrt);
  REPRISE_UNARY_REAL(rsqrt);
  REPRISE_UNARY_REAL(reciprocal);
  REPRISE_UNARY_REAL(exp);
  REPRISE_UNARY_REAL(exp2);
  REPRISE_UNARY_REAL(expm1);
  REPRISE_UNARY_REAL(log);
  REPRISE_UNARY_REAL(log2);
  REPRISE_UNARY_REAL(log1p);
  REPRISE_UNARY_REAL(sin);
  REPRISE_UNARY_REAL(cos);
  REPRISE_UNARY_REAL(tanh);
  REPRISE_UNARY_REAL(erf);
  REPRISE_UNARY_REAL(sigmoid);
  REPRISE_UNARY_REAL(logsigmoid);
  REPRISE_UNARY_REAL(softplus);
  REPRISE_UNARY_NUMBER(relu);
  REPRISE_UNARY_NUMBER(squared_relu);
  REPRISE_UNARY_REAL(silu);
  REPRISE_UNARY_REAL(gelu);
  REPRISE_UNARY_REAL(softcap);
  REPRISE_UNARY_NUMBER(add_scalar);
  REPRISE_UNARY_NUMBER(mul_scalar);
  REPRISE_UNARY_REAL(div_scalar);
  REPRISE_UNARY_REAL(pow_scalar);
  REPRISE_UNARY_NUMBER(clamp);
#undef REPRISE_UNARY_REAL
#undef REPRISE_UNARY_NUMBER
  registry.add(op::cast, {claim_cast, bind_cast});
  registry.add(op::logical_not, {claim_any, bind_logical_not});
  registry.add(op::silu_backward, {claim_reals, bind_binary<Binary::silu_backward>});
  registry.add(op::gelu_backward, {claim_reals, bind_binary<Binary::gelu_backward>});
  registry.add(op::add, {claim_numbers, bind_binary<Binary::add>});
  registry.add(op::sub, {claim_numbers, bind_binary<Binary::sub>});
  registry.add(op::mul, {claim_numbers, bind_binary<Binary::mul>});
  registry.add(op::div, {claim_reals, bind_binary<Binary::div>});
  registry.add(op::pow, {claim_reals, bind_binary<Binary::pow>});
  registry.add(op::fmod, {claim_reals, bind_binary<Binary::fmod>});
  registry.add(op::maximum, {claim_numbers, bind_binary<Binary::maximum>});
  registry.add(op::minimum, {claim_numbers, bind_binary<Binary::minimum>});
  registry.add(op::lerp, {claim_reals, bind_binary<Binary::lerp>});
  registry.add(op::eq, {claim_any, bind_compare<Compare::eq>});
  registry.add(op::ne, {claim_any, bind_compare<Compare::ne>});
  registry.add(op::lt, {claim_any, bind_compare<Compare::lt>});
  registry.add(op::le, {claim_any, bind_compare<Compare::le>});
  registry.add(op::gt, {claim_any, bind_compare<Compare::gt>});
  registry.add(op::ge, {claim_any, bind_compare<Compare::ge>});
  registry.add(op::logical_and, {claim_any, bind_compare<Compare::logical_and>});
  registry.add(op::logical_or, {claim_any, bind_compare<Compare::logical_or>});
  registry.add(op::where, {claim_any, bind_where});
  registry.add(op::masked_fill, {claim_any, bind_masked_fill});
  registry.add(op::addcmul, {claim_reals, bind_addcmul});
}

}  // namespace reprise::loops
