// SPDX-License-Identifier: Apache-2.0
// Softmax, norms, cross entropy and rotary embedding, a row at a time: base/row_formulas.h over plain arrays.
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

template <class E>
REPRISE_INLINE auto loader(const E* p) {
  return [p](std::size_t i) { return load_element(p, i); };
}
template <class E>
REPRISE_INLINE auto storer(E* p) {
  return [p](std::size_t i, Compute<E> x) { store_element(p, i, x); };
}

/// rows::softmax for a row of one column block, with each exponential computed once: the same operations on the same numbers.
template <class T>
REPRISE_INLINE void softmax_short(const T* x, T* y, std::size_t n) {
  const T max = reduction::reduce_block<reduction::Max<T>, T>(0, n, loader(x));
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - max);
  const T inverse = T(1) / reduction::reduce_block<reduction::Add<T>, T>(0, n, loader(y));
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = y[i] * inverse;
}

template <class E, class T>
void softmax(const E* x, E* y, std::size_t n, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    if constexpr (__is_same(E, T)) {
      if (n <= reduction::kColumnBlock) {  // a row of -inf: NaN either way
        softmax_short(x + row * n, y + row * n, n);
        continue;
      }
    }
    rows::softmax<T>(n, loader(x + row * n), storer(y + row * n));
  }
}

template <class E, class T>
void softmax_backward(const E* y, const E* dy, E* dx, std::size_t n, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    rows::softmax_backward<T>(n, loader(y + row * n), loader(dy + row * n), storer(dx + row * n));
  }
}

template <class E, class T>
void log_softmax(const E* x, E* y, std::size_t n, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) rows::log_softmax<T>(n, loader(x + row * n), storer(y + row * n));
}

template <class E, class T>
void log_softmax_backward(const E* y, const E* dy, E* dx, std::size_t n, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    rows::log_softmax_backward<T>(n, loader(y + row * n), loader(dy + row * n), storer(dx + row * n));
  }
}

template <class E, class T>
void logsumexp(const E* x, E* y, std::size_t n, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) store_element(y, row, rows::logsumexp<T>(n, loader(x + row * n)));
}

/// Calls f(weight) with a loader of what a norm multiplies by: 1, w or 1 + w.
template <class E, class T, class F>
REPRISE_INLINE void with_weight(const E* weight, bool unit_offset, const F& f) {
  if (weight == nullptr) {
    f([](std::size_t) { return T(1); });
  } else if (unit_offset) {
    f([weight](std::size_t i) { return T(1) + load_element(weight, i); });
  } else {
    f(loader(weight));
  }
}

template <class E, class T>
void layer_norm(const E* x, const E* weight, const E* bias, T eps, E* y, T* mean, T* rstd, std::size_t n, std::size_t begin,
                std::size_t end) {
  with_weight<E, T>(weight, false, [&](auto load_weight) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto load = loader(x + row * n);
      const rows::NormStatistics<T> statistics = rows::layer_norm_statistics<T>(n, eps, load);
      mean[row] = statistics.mean;
      rstd[row] = statistics.rstd;
      if (bias != nullptr) {
        rows::layer_norm_apply(n, statistics, load, load_weight, loader(bias), storer(y + row * n));
      } else {
        rows::layer_norm_apply(n, statistics, load, load_weight, [](std::size_t) { return T(0); }, storer(y + row * n));
      }
    }
  });
}

template <class E, class T>
void rms_norm(const E* x, const E* weight, bool unit_offset, T eps, E* y, T* rstd, std::size_t n, std::size_t begin, std::size_t end) {
  with_weight<E, T>(weight, unit_offset, [&](auto load_weight) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto load = loader(x + row * n);
      const rows::NormStatistics<T> statistics = rows::rms_norm_statistics<T>(n, eps, load);
      rstd[row] = statistics.rstd;
      rows::rms_norm_apply(n, statistics, load, load_weight, storer(y + row * n));
    }
  });
}

template <class E, class T>
void layer_norm_backward(const E* x, const T* mean, const T* rstd, const E* dy, const E* weight, E* dx, std::size_t n, std::size_t begin,
                         std::size_t end) {
  with_weight<E, T>(weight, false, [&](auto load_weight) {
    for (std::size_t row = begin; row < end; ++row) {
      rows::layer_norm_backward(n, rows::NormStatistics<T>{mean[row], rstd[row]}, loader(x + row * n), loader(dy + row * n), load_weight,
                                storer(dx + row * n));
    }
  });
}

template <class E, class T>
void rms_norm_backward(const E* x, const T* rstd, const E* dy, const E* weight, bool unit_offset, E* dx, std::size_t n, std::size_t begin,
                       std::size_t end) {
  with_weight<E, T>(weight, unit_offset, [&](auto load_weight) {
    for (std::size_t row = begin; row < end; ++row) {
      rows::rms_norm_backward(n, rows::NormStatistics<T>{T(0), rstd[row]}, loader(x + row * n), loader(dy + row * n), load_weight,
                              storer(dx + row * n));
    }
  });
}

template <class E, class T>
void cross_entropy(const E* x, const std::int64_t* target, const rows::CrossEntropy<T>& options, T* loss, T* lse, std::size_t classes,
                   std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    const rows::CrossEntropyRow<T> result = rows::cross_entropy(classes, target[row], options, loader(x + row * classes));
    loss[row] = result.loss;
    lse[row] = result.lse;
  }
}

template <class E, class T>
void cross_entropy_backward(const E* x, const std::int64_t* target, const T* lse, const T* grad, const rows::CrossEntropy<T>& options,
                            E* dx, std::size_t classes, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    rows::cross_entropy_backward(classes, target[row], options, lse[row], grad[row], loader(x + row * classes), storer(dx + row * classes));
  }
}

template <class E, class T>
void rope(rows::RopeLayout layout, bool backward, const E* x, const T* cos, const T* sin, std::size_t n, std::size_t size, E* y) {
  if (backward) {
    rows::rope_backward<T>(layout, n, size, loader(x), loader(cos), loader(sin), storer(y));
  } else {
    rows::rope<T>(layout, n, size, loader(x), loader(cos), loader(sin), storer(y));
  }
}

template <class E, class T>
void fill(RowTable<E, T>& table) {
  table.softmax = softmax<E, T>;
  table.softmax_backward = softmax_backward<E, T>;
  table.log_softmax = log_softmax<E, T>;
  table.log_softmax_backward = log_softmax_backward<E, T>;
  table.logsumexp = logsumexp<E, T>;
  table.layer_norm = layer_norm<E, T>;
  table.rms_norm = rms_norm<E, T>;
  table.layer_norm_backward = layer_norm_backward<E, T>;
  table.rms_norm_backward = rms_norm_backward<E, T>;
  table.cross_entropy = cross_entropy<E, T>;
  table.cross_entropy_backward = cross_entropy_backward<E, T>;
  table.rope = rope<E, T>;
}

}  // namespace

void fill_rows(Kernels& kernels) {
  fill(kernels.rows_f32);
  fill(kernels.rows_f64);
  fill(kernels.rows_bf16);
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
