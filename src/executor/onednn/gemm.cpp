// SPDX-License-Identifier: Apache-2.0
#include "executor/onednn/gemm.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::int64_t kMostSlices = 16;
constexpr std::int64_t kShortestSlice = 256;
constexpr std::int64_t kSliceMultiple = 16;

/// Keeps oneDNN on the calling thread, and gives the caller its own OpenMP setting back.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

const float* shifted(const GemmOperand& operand, std::int64_t row, std::int64_t column) {
  return operand.data + (operand.transposed ? column * operand.stride + row : row * operand.stride + column);
}

}  // namespace

GemmSlices gemm_slices(std::int64_t m, std::int64_t n) {
  GemmSlices slices;
  slices.rows = m >= n;
  const std::int64_t extent = slices.rows ? m : n;
  std::int64_t wanted = 1;
  while (wanted < kMostSlices && extent / (wanted * 2) >= kShortestSlice) wanted *= 2;
  const std::int64_t even = (extent + wanted - 1) / wanted;
  slices.size = (even + kSliceMultiple - 1) / kSliceMultiple * kSliceMultiple;
  slices.count = (extent + slices.size - 1) / slices.size;
  return slices;
}

std::int64_t gemm_library_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  const GemmSlices slices = gemm_slices(m, n);
  const std::int64_t rows = slices.rows ? std::min(slices.size, m) : m;
  const std::int64_t columns = slices.rows ? n : std::min(slices.size, n);
  const auto padded = [](std::int64_t extent) { return (extent + 63) / 64 * 64; };
  const std::int64_t packed = 4 * (padded(rows) * padded(k) + padded(k) * padded(columns));
  return std::min<std::int64_t>(8 << 20, (128 << 10) + packed);
}

void check_gemm_status(int status, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (status == dnnl_out_of_memory) {
    throw DeviceError(fmt::format(
        "oneDNN could not get memory for a product of {} x {} x {}: free memory, raise the limit, or use fewer threads", m, n, k));
  }
  REPRISE_CHECK(status == dnnl_success, fmt::format("oneDNN refused a product of {} x {} x {}: status {}", m, n, k, status));
}

void run_gemm_slice(const GemmCall& call, const GemmSlices& slices, std::int64_t index) {
  const std::int64_t start = index * slices.size;
  const std::int64_t row = slices.rows ? start : 0;
  const std::int64_t column = slices.rows ? 0 : start;
  const std::int64_t m = slices.rows ? std::min(slices.size, call.m - start) : call.m;
  const std::int64_t n = slices.rows ? call.n : std::min(slices.size, call.n - start);
  float* const c = call.c + row * call.stride + column;

  if (call.k == 0) {
    for (std::int64_t i = 0; i < m && !call.accumulate; ++i) std::fill_n(c + i * call.stride, n, 0.0f);
  } else {
    const OneThread one_thread;
    const dnnl_status_t status =
        dnnl_sgemm(call.a.transposed ? 'T' : 'N', call.b.transposed ? 'T' : 'N', m, n, call.k, 1.0f, shifted(call.a, row, 0),
                   call.a.stride, shifted(call.b, 0, column), call.b.stride, call.accumulate ? 1.0f : 0.0f, c, call.stride);
    check_gemm_status(status, m, n, call.k);
  }
  if (call.bias == nullptr) return;
  for (std::int64_t i = 0; i < m; ++i) {
    float* const to = c + i * call.stride;
    for (std::int64_t j = 0; j < n; ++j) to[j] += call.bias[column + j];
  }
}

}  // namespace reprise
