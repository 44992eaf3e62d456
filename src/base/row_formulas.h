// SPDX-License-Identifier: Apache-2.0
// What softmax, the norms, cross entropy, dropout and rotary embedding compute, element by element and in which order: shared by the
// reference evaluation and the compiled kernels, so that both have the same bits. T is float or double; loads are `T load(std::size_t i)`,
// stores `void store(std::size_t i, T value)`. No contraction: every + and * rounds. Row sums follow base/reduction.h's row rule.
// A store of element i may overwrite what the loads of element i read: all of these work in place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/philox.h"
#include "base/reduction.h"

namespace reprise::rows {

/// y = exp(x - max) * (1 / sum). A row of -inf gives NaN.
template <class T, class Load, class Store>
REPRISE_INLINE void softmax(std::size_t n, const Load& x, const Store& y) {
  const reduction::MaxSum<T> row = reduction::max_sum_row<T>(n, x);
  const T inverse = T(1) / row.sum;
  for (std::size_t i = 0; i < n; ++i) y(i, math::exp(x(i) - row.max) * inverse);
}

/// dx = y * (dy - sum(dy * y)).
template <class T, class LoadY, class LoadDy, class Store>
REPRISE_INLINE void softmax_backward(std::size_t n, const LoadY& y, const LoadDy& dy, const Store& dx) {
  const T dot = reduction::sum_row<T>(n, [&](std::size_t i) { return dy(i) * y(i); });
  for (std::size_t i = 0; i < n; ++i) dx(i, y(i) * (dy(i) - dot));
}

/// y = (x - max) - log(sum).
template <class T, class Load, class Store>
REPRISE_INLINE void log_softmax(std::size_t n, const Load& x, const Store& y) {
  const reduction::MaxSum<T> row = reduction::max_sum_row<T>(n, x);
  const T log_sum = math::log(row.sum);
  for (std::size_t i = 0; i < n; ++i) y(i, (x(i) - row.max) - log_sum);
}

/// dx = dy - exp(y) * sum(dy).
template <class T, class LoadY, class LoadDy, class Store>
REPRISE_INLINE void log_softmax_backward(std::size_t n, const LoadY& y, const LoadDy& dy, const Store& dx) {
  const T total = reduction::sum_row<T>(n, dy);
  for (std::size_t i = 0; i < n; ++i) dx(i, dy(i) - math::exp(y(i)) * total);
}

/// log(sum exp x); the row's maximum when that is infinite.
template <class T, class Load>
REPRISE_INLINE T logsumexp(std::size_t n, const Load& x) {
  return reduction::log_sum_exp(reduction::max_sum_row<T>(n, x));
}

/// What a norm saves of a row for its backward pass. RMS norm leaves `mean` 0.
template <class T>
struct NormStatistics {
  T mean, rstd;
};

/// mean = sum(x) / n; rstd = 1 / sqrt(sum((x - mean)^2) / n + eps).
template <class T, class Load>
REPRISE_INLINE NormStatistics<T> layer_norm_statistics(std::size_t n, T eps, const Load& x) {
  const T mean = reduction::sum_row<T>(n, x) / static_cast<T>(n);
  const T squares = reduction::sum_row<T>(n, [&](std::size_t i) {
    const T centred = x(i) - mean;
    return centred * centred;
  });
  return {mean, math::rsqrt(squares / static_cast<T>(n) + eps)};
}

/// rstd = 1 / sqrt(sum(x^2) / n + eps).
template <class T, class Load>
REPRISE_INLINE NormStatistics<T> rms_norm_statistics(std::size_t n, T eps, const Load& x) {
  const T squares = reduction::sum_row<T>(n, [&](std::size_t i) { return x(i) * x(i); });
  return {T(0), math::rsqrt(squares / static_cast<T>(n) + eps)};
}

/// The normalised element: (x - mean) * rstd. (RMS norm: x - 0 is x.)
template <class T>
REPRISE_INLINE T normalized(T x, NormStatistics<T> row) {
  return (x - row.mean) * row.rstd;
}

/// y = normalized * weight + bias; `weight(i)` is 1 + w with a unit offset and 1 without a weight, `bias(i)` is 0 without a bias:
/// then multiplying and adding change nothing (but for -0 + 0), so both are always applied.
template <class T, class Load, class Weight, class Bias, class Store>
REPRISE_INLINE void layer_norm_apply(std::size_t n, NormStatistics<T> row, const Load& x, const Weight& weight, const Bias& bias,
                                     const Store& y) {
  for (std::size_t i = 0; i < n; ++i) y(i, normalized(x(i), row) * weight(i) + bias(i));
}

/// y = (x * rstd) * weight.
template <class T, class Load, class Weight, class Store>
REPRISE_INLINE void rms_norm_apply(std::size_t n, NormStatistics<T> row, const Load& x, const Weight& weight, const Store& y) {
  for (std::size_t i = 0; i < n; ++i) y(i, (x(i) * row.rstd) * weight(i));
}

/// g = dy * weight; dx = ((g - sum(g) / n) - normalized * (sum(g * normalized) / n)) * rstd.
template <class T, class Load, class LoadDy, class Weight, class Store>
REPRISE_INLINE void layer_norm_backward(std::size_t n, NormStatistics<T> row, const Load& x, const LoadDy& dy, const Weight& weight,
                                        const Store& dx) {
  const T mean_g = reduction::sum_row<T>(n, [&](std::size_t i) { return dy(i) * weight(i); }) / static_cast<T>(n);
  const T mean_gx =
      reduction::sum_row<T>(n, [&](std::size_t i) { return (dy(i) * weight(i)) * normalized(x(i), row); }) / static_cast<T>(n);
  for (std::size_t i = 0; i < n; ++i) dx(i, ((dy(i) * weight(i) - mean_g) - normalized(x(i), row) * mean_gx) * row.rstd);
}

/// g = dy * weight; dx = (g - (x * rstd) * (sum(g * (x * rstd)) / n)) * rstd.
template <class T, class Load, class LoadDy, class Weight, class Store>
REPRISE_INLINE void rms_norm_backward(std::size_t n, NormStatistics<T> row, const Load& x, const LoadDy& dy, const Weight& weight,
                                      const Store& dx) {
  const T mean_gx =
      reduction::sum_row<T>(n, [&](std::size_t i) { return (dy(i) * weight(i)) * (x(i) * row.rstd); }) / static_cast<T>(n);
  for (std::size_t i = 0; i < n; ++i) dx(i, (dy(i) * weight(i) - (x(i) * row.rstd) * mean_gx) * row.rstd);
}
// The weight's gradient is sum over rows (reduction.h's rows rule) of dy * normalized, the bias's that of dy.

/// Options of cross entropy. `class_weights` is null or one per class.
template <class T>
struct CrossEntropy {
  std::int64_t ignore_index = -100;
  T label_smoothing = T(0);
  T z_loss = T(0);
  const T* class_weights = nullptr;
};

/// A row's loss and the log-sum-exp its backward pass reads. An ignored row has both 0.
template <class T>
struct CrossEntropyRow {
  T loss, lse;
};

/// Loss of one row of `classes` logits: with s = label_smoothing, nll = lse - x[target]
///   plain      (1 - s) nll + s (lse - sum(x) / classes)                        (s = 0: nll alone)
///   weighted   (1 - s) w[target] nll + (s / classes) sum(w[j] (lse - x[j]))
/// plus z_loss lse^2. A target outside [0, classes) that is not ignore_index gives NaN (the caller validates targets).
template <class T, class Load>
REPRISE_INLINE CrossEntropyRow<T> cross_entropy(std::size_t classes, std::int64_t target, const CrossEntropy<T>& options, const Load& x) {
  if (target == options.ignore_index) return {T(0), T(0)};
  const T lse = logsumexp<T>(classes, x);
  if (target < 0 || static_cast<std::size_t>(target) >= classes) return {static_cast<T>(math::kNan), lse};
  const auto chosen = static_cast<std::size_t>(target);
  const T nll = lse - x(chosen);
  const T s = options.label_smoothing;
  const T n = static_cast<T>(classes);
  T loss = options.class_weights ? options.class_weights[chosen] * nll : nll;
  if (s != T(0) && options.class_weights) {
    const T spread = reduction::sum_row<T>(classes, [&](std::size_t j) { return options.class_weights[j] * (lse - x(j)); });
    loss = (T(1) - s) * loss + (s / n) * spread;
  } else if (s != T(0)) {
    loss = (T(1) - s) * loss + s * (lse - reduction::sum_row<T>(classes, x) / n);
  }
  if (options.z_loss != T(0)) loss = loss + options.z_loss * (lse * lse);
  return {loss, lse};
}

/// Gradient of one row: dx[j] = grad * (exp(x[j] - lse) * pull - push[j]) with
///   plain      pull = 1,                                    push[j] = (1 - s) [j = target] + s / classes
///   weighted   pull = (1 - s) w[target] + (s / classes) sum(w), push[j] = (1 - s) w[target] [j = target] + (s / classes) w[j]
/// and pull + 2 z_loss lse. `grad` is the gradient of this row's loss; an ignored row gets 0 whatever `grad` is.
template <class T, class Load, class Store>
REPRISE_INLINE void cross_entropy_backward(std::size_t classes, std::int64_t target, const CrossEntropy<T>& options, T lse, T grad,
                                           const Load& x, const Store& dx) {
  if (target == options.ignore_index) {
    for (std::size_t j = 0; j < classes; ++j) dx(j, T(0));
    return;
  }
  const auto chosen = static_cast<std::size_t>(target);
  const T s = options.label_smoothing;
  const T share = s / static_cast<T>(classes);
  const T at_target = options.class_weights && target >= 0 && chosen < classes ? (T(1) - s) * options.class_weights[chosen] : T(1) - s;
  T pull = T(1);
  if (options.class_weights) {
    pull = at_target;
    if (s != T(0)) pull = pull + share * reduction::sum_row<T>(classes, [&](std::size_t j) { return options.class_weights[j]; });
  }
  if (options.z_loss != T(0)) pull = pull + T(2) * options.z_loss * lse;
  const T x_target = chosen < classes ? x(chosen) : static_cast<T>(math::kNan);
  if (options.class_weights) {
    for (std::size_t j = 0; j < classes; ++j) dx(j, grad * (math::exp(x(j) - lse) * pull - share * options.class_weights[j]));
  } else {
    for (std::size_t j = 0; j < classes; ++j) dx(j, grad * (math::exp(x(j) - lse) * pull - share));
  }
  if (chosen < classes) {
    const T spread = options.class_weights ? share * options.class_weights[chosen] : share;
    dx(chosen, grad * (math::exp(x_target - lse) * pull - (at_target + spread)));
  }
}

/// Whether dropout keeps the element whose draw is `word`: uniform >= p, so that p = 0 keeps all and p = 1 none.
REPRISE_INLINE bool dropout_keeps(std::uint32_t word, float p) { return !bernoulli(word, p); }

/// y = keep ? x * (1 / (1 - p)) : 0. The backward pass is the same function of dy.
template <class T>
REPRISE_INLINE T dropout(T x, std::uint32_t word, T p) {
  return dropout_keeps(word, static_cast<float>(p)) ? x * (T(1) / (T(1) - p)) : T(0);
}

/// Which elements rotary embedding pairs. With h = n / 2:
///   half                element i (i < n - h) with h + i: y[i] = x[i] cos[i] - x[h + i] sin[i], y[j] = x[j] cos[j] + x[j -
///                       (n - h)] sin[j] (j >= n - h)
///   interleaved         2j with 2j + 1, results in the pairs' own places
///   interleaved_litgpt  2j with 2j + 1, results gathered: the first of each pair at j, the second at h + j
enum class RopeLayout : std::uint8_t { half, interleaved, interleaved_litgpt };

/// Rotates the first n elements of a head of `size` and copies the rest. `cos(i)` and `sin(i)` are the tables' row of this position: index
/// i < n in layout half, pair index j < n / 2 in the others (the first half of a table [theta, theta]). Not in place.
template <class T, class Load, class Cos, class Sin, class Store>
REPRISE_INLINE void rope(RopeLayout layout, std::size_t n, std::size_t size, const Load& x, const Cos& cos, const Sin& sin,
                         const Store& y) {
  const std::size_t h = n / 2;
  if (layout == RopeLayout::half) {
    for (std::size_t i = 0; i < n - h; ++i) y(i, x(i) * cos(i) - x(h + i) * sin(i));
    for (std::size_t j = n - h; j < n; ++j) y(j, x(j) * cos(j) + x(j - (n - h)) * sin(j));
  } else {
    const bool own = layout == RopeLayout::interleaved;
    for (std::size_t j = 0; j < h; ++j) {
      const T a = x(2 * j);
      const T b = x(2 * j + 1);
      y(own ? 2 * j : j, a * cos(j) - b * sin(j));
      y(own ? 2 * j + 1 : h + j, b * cos(j) + a * sin(j));
    }
  }
  for (std::size_t i = n; i < size; ++i) y(i, x(i));
}

/// The transpose of `rope`. Not in place.
template <class T, class Load, class Cos, class Sin, class Store>
REPRISE_INLINE void rope_backward(RopeLayout layout, std::size_t n, std::size_t size, const Load& dy, const Cos& cos, const Sin& sin,
                                  const Store& dx) {
  const std::size_t h = n / 2;
  if (layout == RopeLayout::half) {
    for (std::size_t j = 0; j < h; ++j) dx(j, dy(j) * cos(j) + dy(j + (n - h)) * sin(j + (n - h)));
    for (std::size_t j = h; j < n; ++j) dx(j, dy(j) * cos(j) - dy(j - h) * sin(j - h));
  } else {
    const bool own = layout == RopeLayout::interleaved;
    for (std::size_t j = 0; j < h; ++j) {
      const T a = dy(own ? 2 * j : j);
      const T b = dy(own ? 2 * j + 1 : h + j);
      dx(2 * j, a * cos(j) + b * sin(j));
      dx(2 * j + 1, b * cos(j) - a * sin(j));
    }
  }
  for (std::size_t i = n; i < size; ++i) dx(i, dy(i));
}

}  // namespace reprise::rows
