// SPDX-License-Identifier: Apache-2.0
// Reductions by the three rules of base/reduction.h.
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

using reduction::Add;
using reduction::Max;
using reduction::Min;
using reduction::Multiply;

/// How an op ends: from the reduced number to the result.
template <class T>
REPRISE_INLINE T finish(Reduce op, T total, std::size_t n, double correction) {
  switch (op) {
    case Reduce::mean: return total / static_cast<T>(n);
    case Reduce::var: return total / static_cast<T>(static_cast<double>(n) - correction);
    case Reduce::standard_deviation: return math::sqrt(total / static_cast<T>(static_cast<double>(n) - correction));
    case Reduce::norm2: return math::sqrt(total);
    default: return total;
  }
}

/// Reduces one row through `load`.
template <class T, class Load>
REPRISE_INLINE T reduce_one(Reduce op, std::size_t n, double correction, const Load& load) {
  switch (op) {
    case Reduce::amax: return reduction::reduce_row<Max<T>, T>(n, load);
    case Reduce::amin: return reduction::reduce_row<Min<T>, T>(n, load);
    case Reduce::prod: return reduction::reduce_row<Multiply<T>, T>(n, load);
    case Reduce::norm2:
    case Reduce::sum_squares: return finish(op, reduction::sum_row<T>(n, [&](std::size_t i) { return load(i) * load(i); }), n, correction);
    case Reduce::var:
    case Reduce::standard_deviation: {
      const T mean = reduction::sum_row<T>(n, load) / static_cast<T>(n);
      const T squares = reduction::sum_row<T>(n, [&](std::size_t i) { return (load(i) - mean) * (load(i) - mean); });
      return finish(op, squares, n, correction);
    }
    default: return finish(op, reduction::sum_row<T>(n, load), n, correction);
  }
}

template <class E, class T>
void reduce_rows(Reduce op, const E* x, std::int64_t stride, std::size_t n, double correction, E* y, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    const E* p = x + static_cast<std::int64_t>(row) * stride;
    store_element(y, row, reduce_one<T>(op, n, correction, [p](std::size_t i) { return load_element(p, i); }));
  }
}

inline constexpr std::size_t kColumns = 256;  // columns that are reduced together

/// Reduces `width` columns by the rows rule: chains over 512 rows, then block results in order. `f(row, column)` gives an element.
template <class Op, class T, class F>
REPRISE_INLINE void reduce_columns_by(std::size_t rows, std::size_t width, T* total, const F& f) {
  alignas(64) T chain[kColumns];
  for (std::size_t begin = 0; begin < rows || begin == 0; begin += reduction::kRowBlock) {
    const std::size_t end = rows - begin < reduction::kRowBlock ? rows : begin + reduction::kRowBlock;
    for (std::size_t c = 0; c < width; ++c) chain[c] = Op::identity();
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t c = 0; c < width; ++c) chain[c] = Op::combine(chain[c], f(row, c));
    }
    if (begin == 0) {
      for (std::size_t c = 0; c < width; ++c) total[c] = chain[c];
    } else {
      for (std::size_t c = 0; c < width; ++c) total[c] = Op::combine(total[c], chain[c]);
    }
  }
}

template <class E, class T>
void reduce_columns(Reduce op, const E* x, std::size_t rows, std::size_t columns, double correction, E* y, std::size_t begin,
                    std::size_t end) {
  alignas(64) T total[kColumns];
  alignas(64) T mean[kColumns];
  for (std::size_t first = begin; first < end; first += kColumns) {
    const std::size_t width = end - first < kColumns ? end - first : kColumns;
    const E* p = x + first;
    const auto load = [p, columns](std::size_t row, std::size_t c) { return load_element(p + row * columns, c); };
    const auto square = [&](std::size_t row, std::size_t c) { return load(row, c) * load(row, c); };
    switch (op) {
      case Reduce::amax: reduce_columns_by<Max<T>>(rows, width, total, load); break;
      case Reduce::amin: reduce_columns_by<Min<T>>(rows, width, total, load); break;
      case Reduce::prod: reduce_columns_by<Multiply<T>>(rows, width, total, load); break;
      case Reduce::norm2:
      case Reduce::sum_squares: reduce_columns_by<Add<T>>(rows, width, total, square); break;
      case Reduce::var:
      case Reduce::standard_deviation:
        reduce_columns_by<Add<T>>(rows, width, mean, load);
        for (std::size_t c = 0; c < width; ++c) mean[c] = mean[c] / static_cast<T>(rows);
        reduce_columns_by<Add<T>>(rows, width, total, [&](std::size_t row, std::size_t c) {
          const T centred = load(row, c) - mean[c];
          return centred * centred;
        });
        break;
      default: reduce_columns_by<Add<T>>(rows, width, total, load); break;
    }
    for (std::size_t c = 0; c < width; ++c) store_element(y, first + c, finish(op, total[c], rows, correction));
  }
}

template <class E, class T>
void reduce_leaves(Reduce op, const E* x, std::size_t n, T mean, T* leaves, std::size_t begin, std::size_t end) {
  const auto load = [x](std::size_t i) { return load_element(x, i); };
  for (std::size_t leaf = begin; leaf < end; ++leaf) {
    switch (op) {
      case Reduce::amax: leaves[leaf] = reduction::reduce_leaf<Max<T>, T>(leaf, n, load); break;
      case Reduce::amin: leaves[leaf] = reduction::reduce_leaf<Min<T>, T>(leaf, n, load); break;
      case Reduce::prod: leaves[leaf] = reduction::reduce_leaf<Multiply<T>, T>(leaf, n, load); break;
      case Reduce::norm2:
      case Reduce::sum_squares:
        leaves[leaf] = reduction::reduce_leaf<Add<T>, T>(leaf, n, [&](std::size_t i) { return load(i) * load(i); });
        break;
      case Reduce::var:
      case Reduce::standard_deviation:
        leaves[leaf] = reduction::reduce_leaf<Add<T>, T>(leaf, n, [&](std::size_t i) { return (load(i) - mean) * (load(i) - mean); });
        break;
      default: leaves[leaf] = reduction::reduce_leaf<Add<T>, T>(leaf, n, load); break;
    }
  }
}

template <class T>
T finish_leaves(Reduce op, T* leaves, std::size_t count, std::size_t n, double correction) {
  switch (op) {
    case Reduce::amax: return reduction::reduce_leaves<Max<T>>(leaves, count);
    case Reduce::amin: return reduction::reduce_leaves<Min<T>>(leaves, count);
    case Reduce::prod: return reduction::reduce_leaves<Multiply<T>>(leaves, count);
    default: return finish(op, reduction::reduce_leaves<Add<T>>(leaves, count), n, correction);
  }
}

/// Columns [begin, end) of a norm's parameter gradients.
template <class E, class T>
void norm_parameter_gradients(const E* x, const T* mean, const T* rstd, const E* dy, E* dweight, E* dbias, std::size_t rows, std::size_t n,
                              std::size_t begin, std::size_t end) {
  alignas(64) T total[kColumns];
  for (std::size_t first = begin; first < end; first += kColumns) {
    const std::size_t width = end - first < kColumns ? end - first : kColumns;
    const E* px = x + first;
    const E* pdy = dy + first;
    if (dweight != nullptr && mean != nullptr) {
      reduce_columns_by<Add<T>>(rows, width, total, [=](std::size_t row, std::size_t c) {
        return load_element(pdy + row * n, c) * ((load_element(px + row * n, c) - mean[row]) * rstd[row]);
      });
    } else if (dweight != nullptr) {
      reduce_columns_by<Add<T>>(rows, width, total, [=](std::size_t row, std::size_t c) {
        return load_element(pdy + row * n, c) * (load_element(px + row * n, c) * rstd[row]);
      });
    }
    if (dweight != nullptr) {
      for (std::size_t c = 0; c < width; ++c) store_element(dweight, first + c, total[c]);
    }
    if (dbias != nullptr) {
      reduce_columns_by<Add<T>>(rows, width, total, [=](std::size_t row, std::size_t c) { return load_element(pdy + row * n, c); });
      for (std::size_t c = 0; c < width; ++c) store_element(dbias, first + c, total[c]);
    }
  }
}

template <class E, class T>
void fill(RowTable<E, T>& table) {
  table.reduce_rows = reduce_rows<E, T>;
  table.reduce_columns = reduce_columns<E, T>;
  table.reduce_leaves = reduce_leaves<E, T>;
  table.finish_leaves = finish_leaves<T>;
  table.norm_parameter_gradients = norm_parameter_gradients<E, T>;
}

}  // namespace

void fill_reductions(Kernels& kernels) {
  fill(kernels.rows_f32);
  fill(kernels.rows_f64);
  fill(kernels.rows_bf16);
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
