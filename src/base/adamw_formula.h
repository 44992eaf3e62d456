// SPDX-License-Identifier: Apache-2.0
// One element of the AdamW update (Loshchilov and Hutter, "Decoupled weight decay regularization", 2019) and stochastic rounding to
// bfloat16: shared by the reference evaluation and the compiled kernels.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/elementary.h"
#include "base/philox.h"

namespace reprise::optimizer {

/// What the update needs of a step, each rounded once from double.
template <class T>
struct AdamWStep {
  T decay;                 // 1 - lr * weight_decay
  T beta1, one_less_beta1;
  T beta2, one_less_beta2;
  T step_size;             // lr / (1 - beta1^t)
  T root_scale;            // 1 / sqrt(1 - beta2^t)
  T eps;
};

/// beta^t by repeated squaring: the same bits on every machine, which libm's pow does not promise.
inline double integer_power(double base, std::int64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

/// Prepares step number `t` (from 1).
template <class T>
AdamWStep<T> adamw_step(double lr, double beta1, double beta2, double eps, double weight_decay, std::int64_t t) {
  return {static_cast<T>(1.0 - lr * weight_decay), static_cast<T>(beta1), static_cast<T>(1.0 - beta1), static_cast<T>(beta2),
          static_cast<T>(1.0 - beta2), static_cast<T>(lr / (1.0 - integer_power(beta1, t))),
          static_cast<T>(1.0 / math::sqrt(1.0 - integer_power(beta2, t))), static_cast<T>(eps)};
}

template <class T>
struct AdamWElement {
  T p, m, v;
};

/// m' = beta1 m + (1 - beta1) g; v' = beta2 v + (1 - beta2) g g; p' = p decay - step_size (m' / (sqrt(v') root_scale + eps)).
/// No contraction.
template <class T>
REPRISE_INLINE AdamWElement<T> adamw_element(const AdamWStep<T>& step, T p, T g, T m, T v) {
  const T m1 = step.beta1 * m + step.one_less_beta1 * g;
  const T v1 = step.beta2 * v + step.one_less_beta2 * (g * g);
  const T denominator = math::sqrt(v1) * step.root_scale + step.eps;
  return {p * step.decay - step.step_size * (m1 / denominator), m1, v1};
}

/// Which stored value of a parameter a rounding draw belongs to.
enum class Rounded : std::uint32_t { parameter = 0, first_moment = 1, second_moment = 2 };

/// Subsequence of the Philox stream that rounds one value of parameter `parameter` in step `step`; element i reads word i of it. Forward
/// draws are subsequence 0, which this never is.
REPRISE_INLINE std::uint64_t rounding_subsequence(std::uint64_t step, std::uint32_t parameter, Rounded value) {
  return ((step + 1) << 32) | (std::uint64_t{3} * parameter + static_cast<std::uint32_t>(value));
}

/// Rounds to a neighbouring bfloat16, up in magnitude with probability (dropped bits) / 2^16.
/// Representable values, infinities and NaN stay.
REPRISE_INLINE bfloat16 stochastic_bfloat16(float x, std::uint32_t word) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const bool finite = (bits & 0x7F800000u) != 0x7F800000u;
  const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  const std::uint32_t rounded = finite ? bits + (word >> 16) : bits;
  return {static_cast<std::uint16_t>((rounded >> 16) | (nan ? 0x40u : 0u))};
}

}  // namespace reprise::optimizer
