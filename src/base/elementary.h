// SPDX-License-Identifier: Apache-2.0
// The elementary functions of the numeric contract. The float ones are our own polynomials with explicit fma and selects in place of
// branches: the same bits from every compiler flag and instruction set, and loops that call them vectorise. The double ones are libm's.
// Each float function's error bound in ulp is in tests/unit/base/elementary_test.cpp.
// Polynomials: own Remez fits, relative error, lowest power first.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace reprise::math {

inline constexpr float kInfinity = __builtin_inff();
inline constexpr float kNan = __builtin_nanf("");

REPRISE_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
REPRISE_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
REPRISE_INLINE float abs(float x) { return __builtin_fabsf(x); }
REPRISE_INLINE double abs(double x) { return __builtin_fabs(x); }
REPRISE_INLINE float copysign(float size, float sign) { return __builtin_copysignf(size, sign); }
REPRISE_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
REPRISE_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
REPRISE_INLINE float floor(float x) { return __builtin_floorf(x); }
REPRISE_INLINE double floor(double x) { return __builtin_floor(x); }
/// Rounds half to even (the rounding mode is never changed).
REPRISE_INLINE float round_even(float x) { return __builtin_rintf(x); }
REPRISE_INLINE double round_even(double x) { return __builtin_rint(x); }
/// 1/sqrt(x), two roundings.
template <class T>
REPRISE_INLINE T rsqrt(T x) { return T(1) / sqrt(x); }
/// The larger; NaN wins; of two zeros the second.
template <class T>
REPRISE_INLINE T maximum(T a, T b) { return (a > b) | (a != a) ? a : b; }
/// The smaller; NaN wins; of two zeros the second.
template <class T>
REPRISE_INLINE T minimum(T a, T b) { return (a < b) | (a != a) ? a : b; }
/// -1, 0 or 1; NaN and zeros give 0.
template <class T>
REPRISE_INLINE T sign(T x) { return static_cast<T>(x > T(0)) - static_cast<T>(x < T(0)); }
/// x when x > 0, else 0; NaN stays.
template <class T>
REPRISE_INLINE T relu(T x) { return (x > T(0)) | (x != x) ? x : T(0); }

/// e^x in three factors, so that a caller can multiply before a result in the denormals is rounded: e^x = p * s1 * s2.
struct ExpParts {
  float p, s1, s2;
};

/// Splits e^x. x: [-120, 89.5] or NaN.
REPRISE_INLINE ExpParts exp_parts(float x) {
  const float shifted = fma(x, 1.44269504f, 12582912.0f);  // 1.5 * 2^23: the sum's last bit is worth one
  const float n = shifted - 12582912.0f;
  const std::int32_t k = static_cast<std::int32_t>(__builtin_bit_cast(std::uint32_t, shifted) - 0x4B400000u);
  const float r = fma(n, 2.12194440e-4f, fma(n, -0.693359375f, x));
  const float q = fma(fma(fma(fma(0.0013814316f, r, 0.008368851f), r, 0.0416684f), r, 0.1666652f), r, 0.49999994f);
  const std::int32_t half = k >> 1;
  const auto s1 = static_cast<std::uint32_t>(half + 127) << 23;
  const auto s2 = static_cast<std::uint32_t>(k - half + 127) << 23;
  return {1.0f + fma(r * r, q, r), __builtin_bit_cast(float, s1), __builtin_bit_cast(float, s2)};
}

REPRISE_INLINE float clamp_exp_argument(float x) {
  const float low = x < -120.0f ? -120.0f : x;
  return low > 89.5f ? 89.5f : low;
}

REPRISE_INLINE float exp(float x) {
  const ExpParts e = exp_parts(clamp_exp_argument(x));
  return e.p * e.s1 * e.s2;
}
REPRISE_INLINE double exp(double x) { return __builtin_exp(x); }

REPRISE_INLINE float exp2(float x) {
  const float low = x < -160.0f ? -160.0f : x;
  const float clamped = low > 129.0f ? 129.0f : low;
  const float shifted = clamped + 12582912.0f;
  const float r = clamped - (shifted - 12582912.0f);
  const std::int32_t k = static_cast<std::int32_t>(__builtin_bit_cast(std::uint32_t, shifted) - 0x4B400000u);
  const float q = fma(fma(fma(fma(fma(1.54744649e-4f, r, 0.00133909821f), r, 0.00961801886f), r, 0.0555035689f), r, 0.240226511f), r,
                      0.693147188f);
  const std::int32_t half = k >> 1;
  const auto s1 = static_cast<std::uint32_t>(half + 127) << 23;
  const auto s2 = static_cast<std::uint32_t>(k - half + 127) << 23;
  return fma(r, q, 1.0f) * __builtin_bit_cast(float, s1) * __builtin_bit_cast(float, s2);
}
REPRISE_INLINE double exp2(double x) { return __builtin_exp2(x); }

/// e^x - 1, exact in relative terms near 0.
REPRISE_INLINE float expm1(float x) {
  const float low = x < -25.0f ? -25.0f : x;
  const float clamped = low > 89.0f ? 89.0f : low;
  const float shifted = fma(clamped, 1.44269504f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  const std::uint32_t k = __builtin_bit_cast(std::uint32_t, shifted) - 0x4B400000u;
  const float r = fma(n, 2.12194440e-4f, fma(n, -0.693359375f, clamped));
  const float q = fma(fma(fma(fma(0.0013814316f, r, 0.008368851f), r, 0.0416684f), r, 0.1666652f), r, 0.49999994f);
  const float s = __builtin_bit_cast(float, (k + 126u) << 23);  // half of 2^n, so that n = 128 fits
  const float result = fma(s, fma(r * r, q, r), s - 0.5f) * 2.0f;
  return abs(x) < 0x1p-25f ? x : result;
}
REPRISE_INLINE double expm1(double x) { return __builtin_expm1(x); }

/// x > 0 as 2^e * (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1].
struct LogParts {
  float e, f;
};

REPRISE_INLINE LogParts log_parts(float x) {
  const bool denormal = x < 0x1p-126f;
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, denormal ? x * 0x1p23f : x);
  const std::int32_t e = static_cast<std::int32_t>(bits - 0x3F3504F3u) >> 23;
  const float m = __builtin_bit_cast(float, bits - (static_cast<std::uint32_t>(e) << 23));
  return {static_cast<float>(denormal ? e - 23 : e), m - 1.0f};
}

/// log(1 + f) - f for f as in LogParts.
REPRISE_INLINE float log_tail(float f) {
  const float s = f * f;
  const float low = fma(fma(fma(fma(0.0512082390f, f, -0.108507037f), f, 0.121298447f), f, -0.125545174f), f, 0.142095596f);
  const float p = fma(fma(fma(fma(low, f, -0.166593671f), f, 0.200022236f), f, -0.250001669f), f, 0.333333135f);
  return fma(f * s, p, -0.5f * s);
}

REPRISE_INLINE float log_specials(float x, float result) {
  const float below = x < 0.0f ? kNan : result;
  const float at = x == 0.0f ? -kInfinity : below;
  return (x != x) | (x == kInfinity) ? x : at;
}

REPRISE_INLINE float log(float x) {
  const LogParts parts = log_parts(x);
  const float tail = fma(parts.e, -2.12194440e-4f, log_tail(parts.f));
  return log_specials(x, fma(parts.e, 0.693359375f, parts.f + tail));
}
REPRISE_INLINE double log(double x) { return __builtin_log(x); }

REPRISE_INLINE float log2(float x) {
  const LogParts parts = log_parts(x);
  const float tail = log_tail(parts.f);
  const float extra = fma(parts.f, 0.44269504f, fma(tail, 0.44269504f, tail));  // log2(e) - 1
  return log_specials(x, parts.e + (parts.f + extra));
}
REPRISE_INLINE double log2(double x) { return __builtin_log2(x); }

/// log(1 + x), exact in relative terms near 0.
REPRISE_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const bool near = (x > -0.29f) & (x < 0.41f);
  const float lost = (abs(x) < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x)) / u;
  const LogParts parts = log_parts(u);
  const float e = near ? 0.0f : parts.e;
  const float f = near ? x : parts.f;
  const float tail = fma(e, -2.12194440e-4f, log_tail(f)) + (near ? 0.0f : lost);
  const float result = log_specials(u, fma(e, 0.693359375f, f + tail));
  return abs(x) < 0x1p-26f ? x : result;
}
REPRISE_INLINE double log1p(double x) { return __builtin_log1p(x); }

REPRISE_INLINE float tanh(float x) {
  const float a = abs(x);
  const float z = a * a;
  const float p = fma(fma(fma(fma(-0.005895149f, z, 0.020795964f), z, -0.053783827f), z, 0.13331924f), z, -0.333333f);
  const float small = fma(a * z, p, a);
  const float large = 1.0f - 2.0f / (1.0f + exp(2.0f * a));
  return copysign(a < 0.6f ? small : large, x);
}
REPRISE_INLINE double tanh(double x) { return __builtin_tanh(x); }

REPRISE_INLINE float erf(float x) {
  const float a = abs(x);
  const float z = a * a;
  const float p = fma(fma(fma(fma(fma(fma(7.8538396e-05f, z, -0.0008010187f), z, 0.005188327f), z, -0.026853811f), z, 0.112835854f), z,
                          -0.37612626f), z, 0.12837917f);
  const float b = a > 3.92f ? 3.92f : a;
  const float low = fma(fma(fma(fma(2.1697606e-05f, b, -4.4147254e-4f), b, 0.004205284f), b, -0.02521034f), b, 0.1084221f);
  const float q = fma(fma(fma(low, b, 0.6332164f), b, 1.1295803f), b, -1.8846785e-4f);
  return copysign(a < 1.0f ? fma(a, p, a) : 1.0f - exp(-q), x);
}
REPRISE_INLINE double erf(double x) { return __builtin_erf(x); }

/// 1 / (1 + e^-x).
REPRISE_INLINE float sigmoid(float x) {
  const float a = -abs(x);
  const ExpParts e = exp_parts(a < -120.0f ? -120.0f : a);
  const float inverse = 1.0f / (1.0f + e.p * e.s1 * e.s2);
  return x < 0.0f ? e.p * inverse * e.s1 * e.s2 : inverse;
}
REPRISE_INLINE double sigmoid(double x) {
  const double e = __builtin_exp(-abs(x));
  return x < 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
}

/// x * sigmoid(t): one exponential, one division, and relative accuracy down into the denormals. t: [-120, inf] or NaN.
REPRISE_INLINE float times_sigmoid(float x, float t) {
  const float a = -abs(t);
  const ExpParts e = exp_parts(a < -120.0f ? -120.0f : a);
  const float quotient = x / (1.0f + e.p * e.s1 * e.s2);
  return t < 0.0f ? e.p * quotient * e.s1 * e.s2 : quotient;
}

/// x * sigmoid(x). -0 at -inf.
REPRISE_INLINE float silu(float x) {
  const float clamped = x < -120.0f ? -120.0f : x;
  return times_sigmoid(clamped, clamped);
}
REPRISE_INLINE double silu(double x) {
  const double clamped = x < -800.0 ? -800.0 : x;
  return clamped * sigmoid(clamped);
}

/// sqrt(8/pi) * (x + 0.044715 x^3): the t of gelu_tanh = x * sigmoid(t).
REPRISE_INLINE float gelu_tanh_argument(float x) { return x * fma(x * x, 0.07135482f, 1.5957691f); }
REPRISE_INLINE double gelu_tanh_argument(double x) { return x * (1.5957691216057308 + 0.07135481627260025 * x * x); }

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), written as x * sigmoid(t). -0 at -inf.
REPRISE_INLINE float gelu_tanh(float x) {
  const float clamped = x < -13.0f ? -13.0f : x;
  return times_sigmoid(clamped, gelu_tanh_argument(clamped));
}
REPRISE_INLINE double gelu_tanh(double x) {
  const double clamped = x < -50.0 ? -50.0 : x;
  return clamped * sigmoid(gelu_tanh_argument(clamped));
}

/// The upper tail of the normal distribution at y >= 0, in factors as in ExpParts: 1 - Phi(y) = e^(-y^2/2) * g(y),
/// g a polynomial in 1/(1 + y/4) - 7/16.
REPRISE_INLINE ExpParts normal_tail(float y) {
  const float t = 1.0f / fma(0.25f, y, 1.0f) - 0.3125f;
  const float low = fma(fma(fma(fma(0.0329151444f, t, -0.0980776040f), t, 0.0212721044f), t, 0.0824913332f), t, 0.194510220f);
  const float g = fma(fma(fma(fma(fma(low, t, 0.270613952f), t, 0.291667838f), t, 0.262026027f), t, 0.203321286f), t, 0.0447702713f);
  const float square = y * y;
  const float lost = fma(y, y, -square);
  const ExpParts e = exp_parts(-0.5f * square);
  return {fma(e.p * g, -0.5f * lost, e.p * g), e.s1, e.s2};
}

/// x * Phi(x), Phi the normal distribution function: 0.5 x (1 + erf(x / sqrt 2)). -0 at -inf.
REPRISE_INLINE float gelu(float x) {
  const float a = abs(x);
  const float y = a > 15.0f ? 15.0f : a;
  const ExpParts tail = normal_tail(y);
  return x < 0.0f ? tail.p * -y * tail.s1 * tail.s2 : x - y * (tail.p * tail.s1 * tail.s2);
}
REPRISE_INLINE double gelu(double x) {
  const double clamped = x < -50.0 ? -50.0 : x;
  return 0.5 * clamped * __builtin_erfc(clamped * -0.70710678118654752);
}

/// log(1 + e^x).
REPRISE_INLINE float softplus(float x) { return (x > 0.0f ? x : 0.0f) + log1p(exp(-abs(x))); }
/// log(1 + e^x); x itself above 20, as the frameworks have it.
REPRISE_INLINE double softplus(double x) { return x > 20.0 ? x : (x > 0.0 ? x : 0.0) + __builtin_log1p(__builtin_exp(-abs(x))); }
/// log(sigmoid(x)).
template <class T>
REPRISE_INLINE T logsigmoid(T x) { return (x < T(0) ? x : T(0)) - log1p(exp(-abs(x))); }

/// sigmoid(x) and sigmoid(-x) = 1 - sigmoid(x), neither by a difference.
template <class T>
struct SigmoidPair {
  T s, complement;
};

template <class T>
REPRISE_INLINE SigmoidPair<T> sigmoid_pair(T x) {
  const T e = exp(-abs(x));
  const T inverse = T(1) / (T(1) + e);
  return {x < T(0) ? e * inverse : inverse, x < T(0) ? inverse : e * inverse};
}

/// Derivative of silu: s (1 + x (1 - s)), s = sigmoid(x).
template <class T>
REPRISE_INLINE T silu_grad(T x) {
  const T low = x < T(-120) ? T(-120) : x;
  const T clamped = low > T(120) ? T(120) : low;
  const SigmoidPair<T> pair = sigmoid_pair(clamped);
  return pair.s * (T(1) + clamped * pair.complement);
}

/// Derivative of gelu_tanh: s (1 + x (1 - s) t'(x)), s = sigmoid(t).
template <class T>
REPRISE_INLINE T gelu_tanh_grad(T x) {
  const T low = x < T(-13) ? T(-13) : x;
  const T clamped = low > T(13) ? T(13) : low;
  const SigmoidPair<T> pair = sigmoid_pair(gelu_tanh_argument(clamped));
  const T slope = T(1.5957691216057308) + T(0.21406444881780075) * (clamped * clamped);
  return pair.s * (T(1) + clamped * pair.complement * slope);
}

/// Derivative of gelu: Phi(x) + x phi(x).
REPRISE_INLINE float gelu_grad(float x) {
  const float a = abs(x);
  const float y = a > 15.0f ? 15.0f : a;
  const ExpParts tail = normal_tail(y);
  const float upper = tail.p * tail.s1 * tail.s2;
  const float density = 0.39894228f * exp(-0.5f * (y * y));
  return x < 0.0f ? upper - y * density : (1.0f - upper) + y * density;
}
REPRISE_INLINE double gelu_grad(double x) {
  const double low = x < -50.0 ? -50.0 : x;
  const double clamped = low > 50.0 ? 50.0 : low;
  return 0.5 * __builtin_erfc(clamped * -0.70710678118654752) +
         clamped * 0.39894228040143268 * __builtin_exp(-0.5 * clamped * clamped);
}

}  // namespace reprise::math
