// SPDX-License-Identifier: Apache-2.0
#include "executor/loops/pointwise_plan.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/thread_pool.h"

namespace reprise::loops {
namespace {

constexpr std::int64_t kChunk = 1024;
constexpr std::int64_t kShortInner = 64;  // inner dimensions below this are walked flat

template <class T>
const PointwiseTable<T>& table_of(const Kernels& kernels) {
  if constexpr (std::is_same_v<T, double>) {
    return kernels.pointwise_f64;
  } else if constexpr (std::is_same_v<T, float>) {
    return kernels.pointwise_f32;
  } else {
    return kernels.pointwise_i64;
  }
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  return DType::int64;
}

/// A saturating conversion, for bounds that stand for "none".
template <class T>
T number(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (value >= 9.2e18) return std::numeric_limits<T>::max();
    if (value <= -9.2e18) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

template <class T>
class ChunkRunner {
 public:
  ChunkRunner(const PointwisePlan& plan, const KernelCall& call) : plan_(plan), call_(call), table_(table_of<T>(*plan.kernels)) {
    for (std::size_t i = 0; i < params_.size(); ++i) params_[i] = number<T>(plan.params[i]);
  }

  void run(std::size_t begin, std::size_t end) {
    const Walk& walk = plan_.walk;
    const std::int64_t row = plan_.flat ? walk.outer() * walk.inner() : walk.inner();
    const std::int64_t chunks = (row + kChunk - 1) / kChunk;
    for (auto item = static_cast<std::int64_t>(begin); item < static_cast<std::int64_t>(end); ++item) {
      const std::int64_t first = item % chunks * kChunk;
      const std::int64_t size = std::min(kChunk, row - first);
      chunk(item / chunks, first, size);
    }
  }

 private:
  /// Elements [first, first + n) of outer row `outer` (flat: of everything).
  void chunk(std::int64_t outer, std::int64_t first, std::int64_t n) {
    const Walk& walk = plan_.walk;
    const auto size = static_cast<std::size_t>(n);
    std::array<std::int64_t, kMaxOperands> offsets{};
    if (!plan_.flat) {
      offsets = walk.offsets(outer, walk.rank - 1);
      for (std::size_t k = 0; k < walk.operands; ++k) offsets[k] += first * walk.strides[k][walk.rank - 1];
    } else {
      offsets[0] = first;
    }
    std::array<const T*, 3> x{};
    const std::size_t skipped = has_condition() ? 1 : 0;
    for (std::size_t k = skipped; k < plan_.inputs; ++k) x[k] = operand(k, offsets[k + 1], first, size);
    const std::uint8_t* const condition = skipped == 1 ? flags(offsets[1], first, size) : nullptr;
    std::byte* const out = call_.outputs[0].data + static_cast<std::size_t>(offsets[0]) * dtype_size(plan_.out);
    if (plan_.kind == PointwiseKind::compare || plan_.kind == PointwiseKind::logical_not) {
      const T* second = x[1];
      if (plan_.kind == PointwiseKind::logical_not) {
        std::fill_n(buffers_[1], size, T(0));
        second = buffers_[1];
      }
      return table_.compare[plan_.function](x[0], second, reinterpret_cast<std::uint8_t*>(out), size);
    }
    const bool direct = plan_.out == dtype_of<T>();
    T* const y = direct ? reinterpret_cast<T*>(out) : result_;
    apply(x, condition, y, size);
    if (!direct) table_.store(y, plan_.out, out, size);
  }

  bool has_condition() const { return plan_.kind == PointwiseKind::where || plan_.kind == PointwiseKind::masked_fill; }

  void apply(const std::array<const T*, 3>& x, const std::uint8_t* condition, T* y, std::size_t n) {
    switch (plan_.kind) {
      case PointwiseKind::unary: return table_.unary[plan_.function](x[0], y, n, params_.data());
      case PointwiseKind::binary: return table_.binary[plan_.function](x[0], x[1], y, n, params_.data());
      case PointwiseKind::where: return table_.where(condition, x[1], x[2], y, n);
      case PointwiseKind::masked_fill:
        std::fill_n(buffers_[0], n, params_[0]);
        return table_.where(condition, buffers_[0], x[1], y, n);
      case PointwiseKind::addcmul: return table_.addcmul(x[0], x[1], x[2], y, n, params_.data());
      case PointwiseKind::compare:
      case PointwiseKind::logical_not: return;
    }
  }

  /// Calls f(offset, stride, done, count) for the runs of input k that make up the chunk.
  template <class F>
  void for_each_run(std::size_t k, std::int64_t offset, std::int64_t first, std::size_t n, const F& f) const {
    const Walk& walk = plan_.walk;
    const std::int64_t stride = walk.strides[k + 1][walk.rank - 1];
    if (!plan_.flat) return f(offset, stride, std::size_t{0}, n);
    if (walk.dense(k + 1)) return f(first, std::int64_t{1}, std::size_t{0}, n);
    const std::int64_t inner = walk.inner();
    for (std::size_t done = 0; done < n;) {
      const std::int64_t at = first + static_cast<std::int64_t>(done);
      const std::int64_t within = at % inner;
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(inner - within, static_cast<std::int64_t>(n - done)));
      f(walk.offsets(at / inner, walk.rank - 1)[k + 1] + within * stride, stride, done, count);
      done += count;
    }
  }

  const T* operand(std::size_t k, std::int64_t offset, std::int64_t first, std::size_t n) {
    const std::byte* const data = call_.inputs[k].data;
    const auto size = static_cast<std::int64_t>(dtype_size(plan_.in[k]));
    const Walk& walk = plan_.walk;
    if (plan_.in[k] == dtype_of<T>() && (plan_.flat ? walk.dense(k + 1) : walk.strides[k + 1][walk.rank - 1] == 1)) {
      return reinterpret_cast<const T*>(data) + (plan_.flat ? first : offset);
    }
    for_each_run(k, offset, first, n, [&](std::int64_t at, std::int64_t stride, std::size_t done, std::size_t count) {
      table_.load(plan_.in[k], data + at * size, stride, buffers_[k] + done, count);
    });
    return buffers_[k];
  }

  const std::uint8_t* flags(std::int64_t offset, std::int64_t first, std::size_t n) {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(call_.inputs[0].data);
    for_each_run(0, offset, first, n, [&](std::int64_t at, std::int64_t stride, std::size_t done, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) flags_[done + i] = data[at + static_cast<std::int64_t>(i) * stride];
    });
    return flags_;
  }

  const PointwisePlan& plan_;
  const KernelCall& call_;
  const PointwiseTable<T>& table_;
  std::array<T, 2> params_{};
  alignas(64) T buffers_[3][kChunk];
  alignas(64) T result_[kChunk];
  alignas(64) std::uint8_t flags_[kChunk];
};

template <class T>
Kernel make_kernel(const PointwisePlan& plan) {
  return [plan](const KernelCall& call) {
    const Walk& walk = plan.walk;
    const std::int64_t row = plan.flat ? walk.outer() * walk.inner() : walk.inner();
    const std::int64_t items = (plan.flat ? 1 : walk.outer()) * ((row + kChunk - 1) / kChunk);
    call.pool.parallel_for(static_cast<std::size_t>(items), [&](std::size_t begin, std::size_t end, int) {
      ChunkRunner<T>(plan, call).run(begin, end);
    });
  };
}

}  // namespace

DType compute_dtype(DType dtype) {
  if (dtype == DType::float64) return DType::float64;
  return is_floating(dtype) ? DType::float32 : DType::int64;
}

Kernel bind_pointwise(PointwisePlan plan, const BindRequest& request, const Kernels& kernels, DType computed) {
  plan.kernels = &kernels;
  plan.inputs = request.inputs.size();
  plan.out = request.outputs[0].type->dtype;
  std::array<StridedShape, 3> shapes;
  for (std::size_t k = 0; k < plan.inputs; ++k) {
    plan.in[k] = request.inputs[k].type->dtype;
    shapes[k] = {&request.inputs[k].type->shape, request.inputs[k].strides};
  }
  plan.walk = make_walk(request.outputs[0].type->shape, std::span(shapes.data(), plan.inputs));
  plan.flat = plan.walk.rank == 1 || plan.walk.inner() < kShortInner;
  if (plan.walk.rank == 1) {  // one dimension: the flat walk reads broadcast inputs as rows of the whole
    plan.flat = false;
  }
  switch (computed) {
    case DType::float64: return make_kernel<double>(plan);
    case DType::int64: return make_kernel<std::int64_t>(plan);
    default: return make_kernel<float>(plan);
  }
}

}  // namespace reprise::loops
