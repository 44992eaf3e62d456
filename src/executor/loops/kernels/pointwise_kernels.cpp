// SPDX-License-Identifier: Apache-2.0
// Pointwise loops over dense arrays. Every loop may run in place: `ivdep` tells the compiler that iterations are independent.
#include "executor/loops/kernels/isa.h"
#include "executor/loops/kernels/fill_tables.h"

#include "base/elementary_wide.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

template <class T, class F>
REPRISE_INLINE void map_one(const T* x, T* y, std::size_t n, const F& f) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

template <class T, class R, class F>
REPRISE_INLINE void map_two(const T* a, const T* b, R* y, std::size_t n, const F& f) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

template <class T>
REPRISE_INLINE T absolute(T x) {
  if constexpr (__is_same(T, std::int64_t)) {
    return x < 0 ? -x : x;
  } else {
    return math::abs(x);
  }
}

#define REPRISE_UNARY(name, expression)                                                            \
  table.unary[static_cast<std::size_t>(Unary::name)] = [](const T* in, T* out, std::size_t n, const T* params) { \
    (void)params;                                                                                  \
    map_one(in, out, n, [&](T x) { return static_cast<T>(expression); });                          \
  }
#define REPRISE_BINARY(name, expression)                                                           \
  table.binary[static_cast<std::size_t>(Binary::name)] = [](const T* in_a, const T* in_b, T* out, std::size_t n, const T* params) { \
    (void)params;                                                                                  \
    map_two(in_a, in_b, out, n, [&](T a, T b) { return static_cast<T>(expression); });             \
  }
#define REPRISE_COMPARE(name, expression)                                                          \
  table.compare[static_cast<std::size_t>(Compare::name)] = [](const T* in_a, const T* in_b, std::uint8_t* out, std::size_t n) { \
    map_two(in_a, in_b, out, n, [](T a, T b) { return static_cast<std::uint8_t>(expression); });   \
  }

/// What integers have too.
template <class T>
void fill_numbers(PointwiseTable<T>& table) {
  REPRISE_UNARY(neg, -x);
  REPRISE_UNARY(abs, absolute(x));
  REPRISE_UNARY(sign, math::sign(x));
  REPRISE_UNARY(square, x * x);
  REPRISE_UNARY(relu, math::relu(x));
  REPRISE_UNARY(squared_relu, math::relu(x) * math::relu(x));
  REPRISE_UNARY(add_scalar, x + params[0]);
  REPRISE_UNARY(mul_scalar, x * params[0]);
  REPRISE_UNARY(copy, x);
  // Written so that NaN passes: a comparison with NaN keeps x.
  REPRISE_UNARY(clamp, (x < params[0] ? params[0] : x) > params[1] ? params[1] : (x < params[0] ? params[0] : x));
  REPRISE_BINARY(add, a + b);
  REPRISE_BINARY(sub, a - b);
  REPRISE_BINARY(mul, a * b);
  REPRISE_BINARY(maximum, math::maximum(a, b));
  REPRISE_BINARY(minimum, math::minimum(a, b));
  REPRISE_COMPARE(eq, a == b);
  REPRISE_COMPARE(ne, a != b);
  REPRISE_COMPARE(lt, a < b);
  REPRISE_COMPARE(le, a <= b);
  REPRISE_COMPARE(gt, a > b);
  REPRISE_COMPARE(ge, a >= b);
  REPRISE_COMPARE(logical_and, (a != T(0)) & (b != T(0)));
  REPRISE_COMPARE(logical_or, (a != T(0)) | (b != T(0)));
  table.where = [](const std::uint8_t* condition, const T* a, const T* b, T* y, std::size_t n) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
  };
}

template <class T>
void fill_reals(PointwiseTable<T>& table) {
  fill_numbers(table);
  REPRISE_UNARY(floor, math::floor(x));
  REPRISE_UNARY(round, math::round_even(x));
  REPRISE_UNARY(sqrt, math::sqrt(x));
  REPRISE_UNARY(rsqrt, math::rsqrt(x));
  REPRISE_UNARY(reciprocal, T(1) / x);
  REPRISE_UNARY(exp, math::exp(x));
  REPRISE_UNARY(exp2, math::exp2(x));
  REPRISE_UNARY(expm1, math::expm1(x));
  REPRISE_UNARY(log, math::log(x));
  REPRISE_UNARY(log2, math::log2(x));
  REPRISE_UNARY(log1p, math::log1p(x));
  REPRISE_UNARY(sin, math::sin(x));
  REPRISE_UNARY(cos, math::cos(x));
  REPRISE_UNARY(tanh, math::tanh(x));
  REPRISE_UNARY(erf, math::erf(x));
  REPRISE_UNARY(sigmoid, math::sigmoid(x));
  REPRISE_UNARY(logsigmoid, math::logsigmoid(x));
  REPRISE_UNARY(softplus, math::softplus(x));
  REPRISE_UNARY(silu, math::silu(x));
  REPRISE_UNARY(gelu, math::gelu(x));
  REPRISE_UNARY(gelu_tanh, math::gelu_tanh(x));
  REPRISE_UNARY(softcap, params[0] * math::tanh(x / params[0]));
  REPRISE_UNARY(div_scalar, x / params[0]);
  REPRISE_UNARY(pow_scalar, math::pow(x, params[0]));
  REPRISE_BINARY(div, a / b);
  REPRISE_BINARY(pow, math::pow(a, b));
  REPRISE_BINARY(fmod, math::remainder(a, b));
  REPRISE_BINARY(silu_backward, b * math::silu_grad(a));
  REPRISE_BINARY(gelu_backward, b * math::gelu_grad(a));
  REPRISE_BINARY(gelu_tanh_backward, b * math::gelu_tanh_grad(a));
  REPRISE_BINARY(lerp, a + params[0] * (b - a));
  table.addcmul = [](const T* a, const T* b, const T* c, T* y, std::size_t n, const T* params) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) y[i] = a[i] + params[0] * b[i] * c[i];
  };
}

#undef REPRISE_UNARY
#undef REPRISE_BINARY
#undef REPRISE_COMPARE

template <class S, class T>
REPRISE_INLINE T widen(S x) {
  if constexpr (__is_same(S, bfloat16)) {
    return static_cast<T>(to_float(x));
  } else {
    return static_cast<T>(x);
  }
}

template <class T, class S>
REPRISE_INLINE S narrow(T x) {
  if constexpr (__is_same(S, bfloat16)) {
    return to_bfloat16(static_cast<float>(x));
  } else if constexpr (__is_same(S, bool)) {
    return x != T(0);
  } else {
    return static_cast<S>(x);
  }
}

template <class S, class T>
REPRISE_INLINE void load_as(const std::byte* from, std::int64_t stride, T* y, std::size_t n) {
  const auto* x = reinterpret_cast<const S*>(from);
  if (stride == 1) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) y[i] = widen<S, T>(x[i]);
  } else if (stride == 0) {
    const T value = widen<S, T>(x[0]);
    for (std::size_t i = 0; i < n; ++i) y[i] = value;
  } else {
    for (std::size_t i = 0; i < n; ++i) y[i] = widen<S, T>(x[static_cast<std::int64_t>(i) * stride]);
  }
}

template <class T>
void load(DType from, const std::byte* x, std::int64_t stride, T* y, std::size_t n) {
  switch (from) {
    case DType::float32: return load_as<float>(x, stride, y, n);
    case DType::float64: return load_as<double>(x, stride, y, n);
    case DType::bfloat16: return load_as<bfloat16>(x, stride, y, n);
    case DType::int32: return load_as<std::int32_t>(x, stride, y, n);
    case DType::int64: return load_as<std::int64_t>(x, stride, y, n);
    case DType::boolean: return load_as<bool>(x, stride, y, n);
    case DType::float16: return;  // nothing computes in float16
  }
}

template <class T, class S>
REPRISE_INLINE void store_as(const T* x, std::byte* to, std::size_t n) {
  auto* y = reinterpret_cast<S*>(to);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = narrow<T, S>(x[i]);
}

template <class T>
void store(const T* x, DType to, std::byte* y, std::size_t n) {
  switch (to) {
    case DType::float32: return store_as<T, float>(x, y, n);
    case DType::float64: return store_as<T, double>(x, y, n);
    case DType::bfloat16: return store_as<T, bfloat16>(x, y, n);
    case DType::int32: return store_as<T, std::int32_t>(x, y, n);
    case DType::int64: return store_as<T, std::int64_t>(x, y, n);
    case DType::boolean: return store_as<T, bool>(x, y, n);
    case DType::float16: return;
  }
}

template <class T>
void fill_conversions(PointwiseTable<T>& table) {
  table.load = load<T>;
  table.store = store<T>;
}

}  // namespace

void fill_pointwise(Kernels& kernels) {
  fill_reals(kernels.pointwise_f32);
  fill_reals(kernels.pointwise_f64);
  fill_numbers(kernels.pointwise_i64);
  fill_conversions(kernels.pointwise_f32);
  fill_conversions(kernels.pointwise_f64);
  fill_conversions(kernels.pointwise_i64);
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
