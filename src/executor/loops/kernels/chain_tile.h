// SPDX-License-Identifier: Apache-2.0
// Small products of attention, read where their operands lie: C[r][c] (= or continued by) one fma chain over k of A[r][k] B[k][c], with
// free strides for A and a row stride for B, so that the probabilities serve as P and as its transpose from one tile.
#pragma once

#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {

/// A operand: element (r, k) at data[r * row + k * step].
struct ChainA {
  const float* data;
  std::int64_t row, step;
};
/// B operand: element (k, c) at data[k * row + c].
struct ChainB {
  const float* data;
  std::int64_t row;
};

#if defined(REPRISE_ISA_IS_v4)
inline constexpr int kChainRows = 6, kChainVectors = 4;
#elif defined(REPRISE_ISA_IS_v3)
inline constexpr int kChainRows = 6, kChainVectors = 2;
#else
inline constexpr int kChainRows = 4, kChainVectors = 4;
#endif

/// kRows x kVectors vectors of C over k in [begin, end).
template <int kRows, int kVectors, bool kContinue>
REPRISE_INLINE void chain_tile(ChainA a, ChainB b, std::int64_t begin, std::int64_t end, float* c, std::int64_t c_row) {
  using V = Vector<float>;
  V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) acc[r][j] = kContinue ? V::load(c + r * c_row + j * V::kLanes) : V::zero();
  }
  const float* pa = a.data + begin * a.step;
  const float* pb = b.data + begin * b.row;
  for (std::int64_t k = begin; k < end; ++k) {
    V column[kVectors];
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) column[j] = V::load(pb + j * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V row = V::all(pa[r * a.row]);
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) acc[r][j] = V::fma(row, column[j], acc[r][j]);
    }
    pa += a.step;
    pb += b.row;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) acc[r][j].store(c + r * c_row + j * V::kLanes);
  }
}

/// kRows rows of C, any number of columns.
template <int kRows, bool kContinue>
REPRISE_INLINE void chain_rows(ChainA a, ChainB b, std::int64_t begin, std::int64_t end, float* c, std::int64_t c_row,
                               std::int64_t columns) {
  constexpr std::int64_t kLanes = Vector<float>::kLanes;
  std::int64_t j = 0;
  for (; j + kChainVectors * kLanes <= columns; j += kChainVectors * kLanes) {
    chain_tile<kRows, kChainVectors, kContinue>(a, {b.data + j, b.row}, begin, end, c + j, c_row);
  }
  for (; j + kLanes <= columns; j += kLanes) chain_tile<kRows, 1, kContinue>(a, {b.data + j, b.row}, begin, end, c + j, c_row);
  for (; j < columns; ++j) {
    for (int r = 0; r < kRows; ++r) {
      float chain = kContinue ? c[r * c_row + j] : 0.0f;
      for (std::int64_t k = begin; k < end; ++k) chain = math::fma(a.data[r * a.row + k * a.step], b.data[k * b.row + j], chain);
      c[r * c_row + j] = chain;
    }
  }
}

namespace {

/// C[rows][columns] = A B over k in [0, depth).
void multiply_chains(ChainA a, ChainB b, std::int64_t depth, float* c, std::int64_t c_row, std::int64_t rows, std::int64_t columns) {
  std::int64_t r = 0;
  for (; r + kChainRows <= rows; r += kChainRows) {
    chain_rows<kChainRows, false>({a.data + r * a.row, a.row, a.step}, b, 0, depth, c + r * c_row, c_row, columns);
  }
  for (; r < rows; ++r) chain_rows<1, false>({a.data + r * a.row, a.row, a.step}, b, 0, depth, c + r * c_row, c_row, columns);
}

/// k in [first, last) for those of `count` rows that take it, one k after the other.
void continue_singly(ChainA a, ChainB b, const std::int64_t* begin, const std::int64_t* end, std::int64_t first, std::int64_t last,
                     float* c, std::int64_t c_row, std::int64_t count, std::int64_t columns) {
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t from = begin[r] > first ? begin[r] : first;
    const std::int64_t to = end[r] < last ? end[r] : last;
    if (from < to) chain_rows<1, true>({a.data + r * a.row, a.row, a.step}, b, from, to, c + r * c_row, c_row, columns);
  }
}

/// Continues the chains of C; row r takes k in [begin[r], end[r]) alone.
void continue_chains(ChainA a, ChainB b, const std::int64_t* begin, const std::int64_t* end, float* c, std::int64_t c_row,
                     std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; r += kChainRows) {
    const std::int64_t count = rows - r < kChainRows ? rows - r : kChainRows;
    std::int64_t low = begin[r];
    std::int64_t low_all = begin[r];
    std::int64_t high = end[r];
    std::int64_t high_all = end[r];
    for (std::int64_t i = r + 1; i < r + count; ++i) {
      low = begin[i] < low ? begin[i] : low;
      low_all = begin[i] > low_all ? begin[i] : low_all;
      high = end[i] > high ? end[i] : high;
      high_all = end[i] < high_all ? end[i] : high_all;
    }
    const ChainA tile{a.data + r * a.row, a.row, a.step};
    float* const to = c + r * c_row;
    if (count < kChainRows || low_all >= high_all) {
      continue_singly(tile, b, begin + r, end + r, low, high, to, c_row, count, columns);
      continue;
    }
    // What all rows share goes through the tile; the ragged ends, a few k, row by row before and after it.
    continue_singly(tile, b, begin + r, end + r, low, low_all, to, c_row, count, columns);
    chain_rows<kChainRows, true>(tile, b, low_all, high_all, to, c_row, columns);
    continue_singly(tile, b, begin + r, end + r, high_all, high, to, c_row, count, columns);
  }
}

}  // namespace

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
