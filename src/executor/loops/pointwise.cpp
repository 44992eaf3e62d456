// SPDX-License-Identifier: Apache-2.0
// Pointwise ops: the output is cut into chunks that fit the first-level cache; an operand that is dense and of the computed type is read in
// place, any other is first gathered and converted into a chunk-sized buffer.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "base/thread_pool.h"
#include "executor/loops/registry.h"
#include "executor/loops/walk.h"

namespace reprise::loops {
namespace {

constexpr std::int64_t kChunk = 1024;
constexpr std::int64_t kShortInner = 64;  // inner dimensions below this are walked flat

enum class Kind : std::uint8_t { unary, binary, compare, where, masked_fill, addcmul, logical_not };

/// Everything but addresses.
struct Plan {
  Kind kind = Kind::unary;
  std::size_t function = 0;  // index into the table of its kind
  Walk walk;
  std::size_t inputs = 1;
  std::array<DType, 3> in{};
  DType out = DType::float32;
  std::array<double, 2> params{};
  bool flat = true;
  const Kernels* kernels = nullptr;
};

template <class T>
const PointwiseTable<T>& table_of(const Kernels& kernels) {
  if constexpr (std::is_same_v<T, double>) {
    return kernels.pointwise_f64;
  } else if constexpr (std::is_same_v<T, float>) {
    return kernels.pointwise_f32;
  } else {
    return kernels.pointwise_i64;
  }
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  return DType::int64;
}

/// A saturating conversion, for bounds that stand for "none".
template <class T>
T number(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (value >= 9.2e18) return std::numeric_limits<T>::max();
    if (value <= -9.2e18) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

template <class T>
class ChunkRunner {
 public:
  ChunkRunner(const Plan& plan, const KernelCall& call) : plan_(plan), call_(call), table_(table_of<T>(*plan.kernels)) {
    for (std::size_t i = 0; i < params_.size(); ++i) params_[i] = number<T>(plan.params[i]);
  }

  void run(std::size_t begin, std::size_t end) {
    const Walk& walk = plan_.walk;
    const std::int64_t row = plan_.flat ? walk.outer() * walk.inner() : walk.inner();
    const std::int64_t chunks = (row + kChunk - 1) / kChunk;
    for (auto item = static_cast<std::int64_t>(begin); item < static_cast<std::int64_t>(end); ++item) {
      const std::int64_t first = item % chunks * kChunk;
      const std::int64_t size = std::min(kChunk, row - first);
      chunk(item / chunks, first, size);
    }
  }

 private:
  /// Elements [first, first + n) of outer row `outer` (flat: of everything).
  void chunk(std::int64_t outer, std::int64_t first, std::int64_t n) {
    const Walk& walk = plan_.walk;
    const auto size = static_cast<std::size_t>(n);
    std::array<std::int64_t, kMaxOperands> offsets{};
    if (!plan_.flat) {
      offsets = walk.offsets(outer, walk.rank - 1);
      for (std::size_t k = 0; k < walk.operands; ++k) offsets[k] += first * walk.strides[k][walk.rank - 1];
    } else {
      offsets[0] = first;
    }
    std::array<const T*, 3> x{};
    const std::size_t skipped = has_condition() ? 1 : 0;
    for (std::size_t k = skipped; k < plan_.inputs; ++k) x[k] = operand(k, offsets[k + 1], first, size);
    const std::uint8_t* const condition = skipped == 1 ? flags(offsets[1], first, size) : nullptr;
    std::byte* const out = call_.outputs[0].data + static_cast<std::size_t>(offsets[0]) * dtype_size(plan_.out);
    if (plan_.kind == Kind::compare || plan_.kind == Kind::logical_not) {
      const T* second = x[1];
      if (plan_.kind == Kind::logical_not) {
        std::fill_n(buffers_[1], size, T(0));
        second = buffers_[1];
      }
      return table_.compare[plan_.function](x[0], second, reinterpret_cast<std::uint8_t*>(out), size);
    }
    const bool direct = plan_.out == dtype_of<T>();
    T* const y = direct ? reinterpret_cast<T*>(out) : result_;
    apply(x, condition, y, size);
    if (!direct) table_.store(y, plan_.out, out, size);
  }

  bool has_condition() const { return plan_.kind == Kind::where || plan_.kind == Kind::masked_fill; }

  void apply(const std::array<const T*, 3>& x, const std::uint8_t* condition, T* y, std::size_t n) {
    switch (plan_.kind) {
      case Kind::unary: return table_.unary[plan_.function](x[0], y, n, params_.data());
      case Kind::binary: return table_.binary[plan_.function](x[0], x[1], y, n, params_.data());
      case Kind::where: return table_.where(condition, x[1], x[2], y, n);
      case Kind::masked_fill:
        std::fill_n(buffers_[0], n, params_[0]);
        return table_.where(condition, buffers_[0], x[1], y, n);
      case Kind::addcmul: return table_.addcmul(x[0], x[1], x[2], y, n, params_.data());
      case Kind::compare:
      case Kind::logical_not: return;
    }
  }

  /// Calls f(offset, stride, done, count) for the runs of input k that make up the chunk.
  template <class F>
  void for_each_run(std::size_t k, std::int64_t offset, std::int64_t first, std::size_t n, const F& f) const {
    const Walk& walk = plan_.walk;
    const std::int64_t stride = walk.strides[k + 1][walk.rank - 1];
    if (!plan_.flat) return f(offset, stride, std::size_t{0}, n);
    if (walk.dense(k + 1)) return f(first, std::int64_t{1}, std::size_t{0}, n);
    const std::int64_t inner = walk.inner();
    for (std::size_t done = 0; done < n;) {
      const std::int64_t at = first + static_cast<std::int64_t>(done);
      const std::int64_t within = at % inner;
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(inner - within, static_cast<std::int64_t>(n - done)));
      f(walk.offsets(at / inner, walk.rank - 1)[k + 1] + within * stride, stride, done, count);
      done += count;
    }
  }

  const T* operand(std::size_t k, std::int64_t offset, std::int64_t first, std::size_t n) {
    const std::byte* const data = call_.inputs[k].data;
    const auto size = static_cast<std::int64_t>(dtype_size(plan_.in[k]));
    const Walk& walk = plan_.walk;
    if (plan_.in[k] == dtype_of<T>() && (plan_.flat ? walk.dense(k + 1) : walk.strides[k + 1][walk.rank - 1] == 1)) {
      return reinterpret_cast<const T*>(data) + (plan_.flat ? first : offset);
    }
    for_each_run(k, offset, first, n, [&](std::int64_t at, std::int64_t stride, std::size_t done, std::size_t count) {
      table_.load(plan_.in[k], data + at * size, stride, buffers_[k] + done, count);
    });
    return buffers_[k];
  }

  const std::uint8_t* flags(std::int64_t offset, std::int64_t first, std::size_t n) {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(call_.inputs[0].data);
    for_each_run(0, offset, first, n, [&](std::int64_t at, std::int64_t stride, std::size_t done, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) flags_[done + i] = data[at + static_cast<std::int64_t>(i) * stride];
    });
    return flags_;
  }

  const Plan& plan_;
  const KernelCall& call_;
  const PointwiseTable<T>& table_;
  std::array<T, 2> params_{};
  alignas(64) T buffers_[3][kChunk];
  alignas(64) T result_[kChunk];
  alignas(64) std::uint8_t flags_[kChunk];
};

template <class T>
Kernel make_kernel(const Plan& plan) {
  return [plan](const KernelCall& call) {
    const Walk& walk = plan.walk;
    const std::int64_t row = plan.flat ? walk.outer() * walk.inner() : walk.inner();
    const std::int64_t items = (plan.flat ? 1 : walk.outer()) * ((row + kChunk - 1) / kChunk);
    call.pool.parallel_for(static_cast<std::size_t>(items), [&](std::size_t begin, std::size_t end, int) {
      ChunkRunner<T>(plan, call).run(begin, end);
    });
  };
}

/// The type an op on these inputs is computed in.
DType compute_dtype(DType dtype) {
  if (dtype == DType::float64) return DType::float64;
  return is_floating(dtype) ? DType::float32 : DType::int64;
}

Kernel bind_plan(Plan plan, const BindRequest& request, const Kernels& kernels, DType computed) {
  plan.kernels = &kernels;
  plan.inputs = request.inputs.size();
  plan.out = request.outputs[0].type->dtype;
  std::array<StridedShape, 3> shapes;
  for (std::size_t k = 0; k < plan.inputs; ++k) {
    plan.in[k] = request.inputs[k].type->dtype;
    shapes[k] = {&request.inputs[k].type->shape, request.inputs[k].strides};
  }
  plan.walk = make_walk(request.outputs[0].type->shape, std::span(shapes.data(), plan.inputs));
  plan.flat = plan.walk.rank == 1 || plan.walk.inner() < kShortInner;
  if (plan.walk.rank == 1) {  // one dimension: the flat walk reads broadcast inputs as rows of the whole
    plan.flat = false;
  }
  switch (computed) {
    case DType::float64: return make_kernel<double>(plan);
    case DType::int64: return make_kernel<std::int64_t>(plan);
    default: return make_kernel<float>(plan);
  }
}

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
  Plan plan;
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
  return bind_plan(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
}

template <Binary kFunction>
Kernel bind_binary(const BindRequest& request, const Kernels& kernels) {
  Plan plan;
  plan.kind = Kind::binary;
  plan.function = static_cast<std::size_t>(kFunction);
  if constexpr (kFunction == Binary::lerp) {
    plan.params[0] = request.node.as<ScalarAttrs>().value;
  } else if constexpr (kFunction == Binary::gelu_backward) {
    if (request.node.as<GeluAttrs>().tanh_form) plan.function = static_cast<std::size_t>(Binary::gelu_tanh_backward);
  }
  return bind_plan(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
}

template <Compare kFunction>
Kernel bind_compare(const BindRequest& request, const Kernels& kernels) {
  Plan plan;
  plan.kind = Kind::compare;
  plan.function = static_cast<std::size_t>(kFunction);
  return bind_plan(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
}

Kernel bind_logical_not(const BindRequest& request, const Kernels& kernels) {
  Plan plan;
  plan.kind = Kind::logical_not;
  plan.function = static_cast<std::size_t>(Compare::eq);
  return bind_plan(plan, request, kernels, DType::int64);
}

Kernel bind_where(const BindRequest& request, const Kernels& kernels) {
  Plan plan;
  plan.kind = Kind::where;
  return bind_plan(plan, request, kernels, compute_dtype(request.outputs[0].type->dtype));
}

Kernel bind_masked_fill(const BindRequest& request, const Kernels& kernels) {
  Plan plan;
  plan.kind = Kind::masked_fill;
  plan.params[0] = request.node.as<ScalarAttrs>().value;
  return bind_plan(plan, request, kernels, compute_dtype(request.outputs[0].type->dtype));
}

Kernel bind_addcmul(const BindRequest& request, const Kernels& kernels) {
  Plan plan;
  plan.kind = Kind::addcmul;
  plan.params[0] = request.node.as<ScalarAttrs>().value;
  return bind_plan(plan, request, kernels, compute_dtype(request.outputs[0].type->dtype));
}

/// Casts compute in their input's type: every conversion then rounds once.
Kernel bind_cast(const BindRequest& request, const Kernels& kernels) {
  Plan plan;
  plan.function = static_cast<std::size_t>(Unary::copy);
  return bind_plan(plan, request, kernels, compute_dtype(request.inputs[0].type->dtype));
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
