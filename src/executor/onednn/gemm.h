// SPDX-License-Identifier: Apache-2.0
// float32 matrix products by oneDNN: one single-threaded call per slice, slices fixed by the sizes alone, so that the
// bits do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"

namespace reprise {

/// A matrix as oneDNN takes it: element (i, j) at i*stride + j, or at j*stride + i when transposed.
struct GemmOperand {
  const float* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// C [m, n] = A [m, k] B [k, n] (+ C). Rows of C are `stride` apart. `bias` [n] is added after the product is rounded; null: none.
struct GemmCall {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  GemmOperand a;
  GemmOperand b;
  float* c = nullptr;
  std::int64_t stride = 0;
  const float* bias = nullptr;
  bool accumulate = false;
};

/// How a product is cut: `count` slices of `size` (the last may be shorter) along the rows or the columns of C.
struct GemmSlices {
  bool rows = true;
  std::int64_t size = 0;
  std::int64_t count = 0;
  friend bool operator==(const GemmSlices&, const GemmSlices&) = default;
};

/// The longer side of C in the largest power of two of slices, at most 16, that leaves each 256 long or more; sizes are
/// multiples of 16. A function of the sizes alone.
GemmSlices gemm_slices(std::int64_t m, std::int64_t n);

/// Runs `batch` independent products, given by `call(i)`, over the pool. All have the sizes of `call(0)`. Does not allocate;
/// oneDNN does, up to gemm_library_bytes per thread. Errors as check_gemm_status.
template <class Call>
void run_gemms(ThreadPool& pool, std::int64_t batch, const Call& call);

/// Runs slice `index` of a product on this thread.
void run_gemm_slice(const GemmCall& call, const GemmSlices& slices, std::int64_t index);

/// Throws for what oneDNN answered (dnnl_status_t) to a product of these sizes: DeviceError when it got no memory, InternalError for
/// any other refusal.
void check_gemm_status(int status, std::int64_t m, std::int64_t n, std::int64_t k);

/// Bound on the bytes one oneDNN call allocates while it multiplies a slice of a product of these sizes: both operands
/// packed, never more than 8 MiB (measured with 2.6 on AVX2 and AVX-512).
std::int64_t gemm_library_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

template <class Call>
void run_gemms(ThreadPool& pool, std::int64_t batch, const Call& call) {
  if (batch == 0) return;
  const GemmCall first = call(0);
  if (first.m == 0 || first.n == 0) return;
  const GemmSlices slices = gemm_slices(first.m, first.n);
  pool.parallel_for(static_cast<std::size_t>(batch * slices.count), [&](std::size_t begin, std::size_t end, int) {
    for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
      run_gemm_slice(call(i / slices.count), slices, i % slices.count);
    }
  });
}

}  // namespace reprise
