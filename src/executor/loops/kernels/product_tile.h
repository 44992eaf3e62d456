// SPDX-License-Identifier: Apache-2.0
// The register tile of matrix products and the packing of its operands into panels [k][tile rows] and [k][tile columns].
#pragma once

#include "base/reduction.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {

template <class T>
inline constexpr std::size_t kTileRows = static_cast<std::size_t>(Vector<T>::kTileRows);
template <class T>
inline constexpr std::size_t kTileColumns = static_cast<std::size_t>(Vector<T>::kTileVectors* Vector<T>::kLanes);

/// acc = sum over k of a[k][rows] x b[k][columns], one fma chain from +0 per element; then C = acc, or C = C + acc.
/// FLUSH flushes every step's denormal result (a CPU with fma does it by its control register, see FlushDenormals).
template <class T, bool kFlush>
REPRISE_INLINE void product_tile(std::size_t k, const T* a, const T* b, T* c, std::size_t c_stride, bool add) {
  using V = Vector<T>;
  constexpr int kRows = V::kTileRows;
  constexpr int kVectors = V::kTileVectors;
  V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) acc[r][j] = V::zero();
  }
  for (std::size_t i = 0; i < k; ++i) {
    V column[kVectors];
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) column[j] = V::load(b + j * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V row = V::all(a[r]);
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) {
        acc[r][j] = V::fma(row, column[j], acc[r][j]);
        if constexpr (kFlush && V::kLanes == 1) acc[r][j].v = reduction::flush_denormal(acc[r][j].v);
      }
    }
    a += kRows;
    b += kVectors * V::kLanes;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      T* p = c + static_cast<std::size_t>(r) * c_stride + static_cast<std::size_t>(j * V::kLanes);
      (add ? V::load(p) + acc[r][j] : acc[r][j]).store(p);
    }
  }
}

#if defined(REPRISE_ISA_IS_v3) || defined(REPRISE_ISA_IS_v4)

/// Writes the transpose of the 8 x 8 floats at `from` (rows `stride` apart) to `to` (rows `to_stride` apart).
REPRISE_INLINE void transpose_8x8(const float* from, std::int64_t stride, float* to, std::size_t to_stride) {
  __m256 r[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * stride);
  __m256 t[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  __m256 u[8];
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    u[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xEE);
    u[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    u[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + static_cast<std::size_t>(i) * to_stride, _mm256_permute2f128_ps(u[i], u[i + 4], 0x20));
    _mm256_storeu_ps(to + static_cast<std::size_t>(i + 4) * to_stride, _mm256_permute2f128_ps(u[i], u[i + 4], 0x31));
  }
}

#endif

/// Packs `rows` x `k` elements into to[k][kWidth], the rest of each step zero. Element (r, i) lies at from[r * row_stride + i * k_stride].
/// bfloat16 widens with the pairs of k swapped.
template <std::size_t kWidth, class E, class T>
REPRISE_INLINE void pack_panel(const E* from, std::int64_t row_stride, std::int64_t k_stride, std::size_t rows, std::size_t k, T* to) {
  const auto at = [k](std::size_t i) {
    if constexpr (__is_same(E, bfloat16)) {
      return static_cast<std::int64_t>(reduction::swap_pair(i, k));
    } else {
      return static_cast<std::int64_t>(i);
    }
  };
  if (rows == kWidth && row_stride == 1) {
    for (std::size_t i = 0; i < k; ++i) {
      const E* p = from + at(i) * k_stride;
      for (std::size_t r = 0; r < kWidth; ++r) to[i * kWidth + r] = load_element(p, r);
    }
    return;
  }
  std::size_t first = 0;
#if defined(REPRISE_ISA_IS_v3) || defined(REPRISE_ISA_IS_v4)
  if constexpr (__is_same(E, float) && kWidth % 8 == 0) {
    if (rows == kWidth && k_stride == 1) {
      for (; first + 8 <= k; first += 8) {
        for (std::size_t r = 0; r < kWidth; r += 8) {
          transpose_8x8(from + static_cast<std::int64_t>(r) * row_stride + static_cast<std::int64_t>(first), row_stride,
                        to + first * kWidth + r, kWidth);
        }
      }
    }
  }
#endif
  for (std::size_t r = 0; r < rows; ++r) {
    const E* p = from + static_cast<std::int64_t>(r) * row_stride;
    for (std::size_t i = first; i < k; ++i) to[i * kWidth + r] = load_element(p + at(i) * k_stride, 0);
  }
  for (std::size_t r = rows; r < kWidth; ++r) {
    for (std::size_t i = first; i < k; ++i) to[i * kWidth + r] = T(0);
  }
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
