// SPDX-License-Identifier: Apache-2.0
// Elements and rows by index along a dimension. Writes are split by the dimensions before the indexed one: what lies there never meets, so
// equal indices are taken in their own order by one thread.
#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "executor/loops/indices.h"
#include "executor/loops/registry.h"

namespace reprise::loops {
namespace {

/// Source elements in row-major order: [outer, along, inner] of `shape`, each naming an element of a dense x.
struct Places {
  Shape shape;                                            // of the index, or of the selected rows
  std::size_t dim = 0;
  std::int64_t outer = 1, along = 1, inner = 1;           // extents of `shape` before, at and behind dim
  std::array<std::int64_t, Shape::kMaxRank> strides{};    // of x
  std::int64_t extent = 0;                                // of x along dim
  bool per_element = true;                                // one index an element, not one a row
};

Places make_places(const Shape& x, const Shape& shape, std::size_t dim, bool per_element) {
  Places places;
  places.shape = shape;
  places.dim = dim;
  for (std::size_t d = 0; d < shape.rank(); ++d) (d < dim ? places.outer : d == dim ? places.along : places.inner) *= shape[d];
  const auto strides = x.dense_strides();
  std::copy(strides.begin(), strides.end(), places.strides.begin());
  places.extent = x[dim];
  places.per_element = per_element;
  return places;
}

/// Calls f(source element, element of x) for outer indices [begin, end), in order.
template <class F>
void for_each_place(const Places& places, const TensorView& index, std::int64_t begin, std::int64_t end, const F& f) {
  for (std::int64_t outer = begin; outer < end; ++outer) {
    std::int64_t base = 0;
    std::int64_t rest = outer;
    for (std::size_t d = places.dim; d-- > 0;) {
      base += rest % places.shape[d] * places.strides[d];
      rest /= places.shape[d];
    }
    for (std::int64_t a = 0; a < places.along; ++a) {
      for (std::int64_t i = 0; i < places.inner; ++i) {
        std::int64_t offset = base;
        std::int64_t left = i;
        for (std::size_t d = places.shape.rank(); d-- > places.dim + 1;) {
          offset += left % places.shape[d] * places.strides[d];
          left /= places.shape[d];
        }
        const std::int64_t source = (outer * places.along + a) * places.inner + i;
        f(source, offset + index_at(index, places.per_element ? source : a) * places.strides[places.dim]);
      }
    }
  }
}

bool takes_index(const ClaimRequest& request) {
  return is_index(request.inputs[1].dtype) && request.inputs[0].shape.rank() > 0;
}

std::optional<Claim> claim_read(const ClaimRequest& request) {
  if (!takes_index(request)) return std::nullopt;
  return Claim{};
}

std::optional<Claim> claim_write(const ClaimRequest& request) {
  if (!takes_index(request)) return std::nullopt;
  Claim claim;
  claim.in_place = {{0, 0}};
  return claim;
}

/// Sums are added in the type they are stored in.
std::optional<Claim> claim_add(const ClaimRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  if (dtype != DType::float32 && dtype != DType::float64) return std::nullopt;
  return claim_write(request);
}

/// Calls f with an unsigned integer of the element's size.
template <class F>
Kernel with_element(DType dtype, F&& f) {
  switch (dtype_size(dtype)) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

void copy_first_input(const KernelCall& call) {
  if (call.inputs[0].data == call.outputs[0].data) return;
  constexpr std::size_t kRun = 1 << 16;
  const auto bytes = static_cast<std::size_t>(call.inputs[0].type->bytes());
  call.pool.parallel_for((bytes + kRun - 1) / kRun, [&](std::size_t begin, std::size_t end, int) {
    std::memcpy(call.outputs[0].data + begin * kRun, call.inputs[0].data + begin * kRun, std::min(bytes, end * kRun) - begin * kRun);
  });
}

template <class F>
void over_outer(const Places& places, const KernelCall& call, const F& f) {
  call.pool.parallel_for(static_cast<std::size_t>(places.outer), [&](std::size_t begin, std::size_t end, int) {
    for_each_place(places, call.inputs[1], static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), f);
  });
}

Kernel bind_gather(const BindRequest& request, const Kernels&) {
  const Shape& x = request.inputs[0].type->shape;
  const Places places = make_places(x, request.inputs[1].type->shape, x.wrap(request.node.as<DimAttrs>().dim), true);
  return with_element(request.inputs[0].type->dtype, [&]<class U>(U) -> Kernel {
    return [places](const KernelCall& call) {
      require_indices("gather", call.inputs[1], places.extent);
      over_outer(places, call,
                 [&](std::int64_t source, std::int64_t at) { call.outputs[0].as<U>()[source] = call.inputs[0].as<const U>()[at]; });
    };
  });
}

Kernel bind_scatter(const BindRequest& request, const Kernels&) {
  const Shape& x = request.inputs[0].type->shape;
  const Places places = make_places(x, request.inputs[1].type->shape, x.wrap(request.node.as<DimAttrs>().dim), true);
  return with_element(request.inputs[0].type->dtype, [&]<class U>(U) -> Kernel {
    return [places](const KernelCall& call) {
      require_indices("scatter", call.inputs[1], places.extent);
      copy_first_input(call);
      over_outer(places, call,
                 [&](std::int64_t source, std::int64_t at) { call.outputs[0].as<U>()[at] = call.inputs[2].as<const U>()[source]; });
    };
  });
}

template <class T>
Kernel add_kernel(const Places& places, T alpha, const char* name) {
  return [places, alpha, name](const KernelCall& call) {
    require_indices(name, call.inputs[1], places.extent);
    copy_first_input(call);
    over_outer(places, call,
               [&](std::int64_t source, std::int64_t at) { call.outputs[0].as<T>()[at] += alpha * call.inputs[2].as<const T>()[source]; });
  };
}

Kernel bind_add(const BindRequest& request, const Places& places, double alpha, const char* name) {
  if (request.inputs[0].type->dtype == DType::float64) return add_kernel<double>(places, alpha, name);
  return add_kernel<float>(places, static_cast<float>(alpha), name);
}

Kernel bind_scatter_add(const BindRequest& request, const Kernels&) {
  const Shape& x = request.inputs[0].type->shape;
  return bind_add(request, make_places(x, request.inputs[1].type->shape, x.wrap(request.node.as<DimAttrs>().dim), true), 1, "scatter_add");
}

Kernel bind_index_add(const BindRequest& request, const Kernels&) {
  const auto& attrs = request.node.as<IndexAddAttrs>();
  const Shape& x = request.inputs[0].type->shape;
  return bind_add(request, make_places(x, request.inputs[2].type->shape, x.wrap(attrs.dim), false), attrs.alpha, "index_add");
}

/// Whole runs of the inner dimensions.
Kernel bind_index_select(const BindRequest& request, const Kernels&) {
  const Shape& x = request.inputs[0].type->shape;
  const Places places = make_places(x, request.outputs[0].type->shape, x.wrap(request.node.as<DimAttrs>().dim), false);
  const std::size_t bytes = static_cast<std::size_t>(places.inner) * dtype_size(request.inputs[0].type->dtype);
  return [places, bytes](const KernelCall& call) {
    require_indices("index_select", call.inputs[1], places.extent);
    call.pool.parallel_for(static_cast<std::size_t>(places.outer * places.along), [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t run = begin; run < end && bytes != 0; ++run) {
        const auto outer = static_cast<std::int64_t>(run) / places.along;
        const std::int64_t row = outer * places.extent + index_at(call.inputs[1], static_cast<std::int64_t>(run) % places.along);
        std::memcpy(call.outputs[0].data + run * bytes, call.inputs[0].data + static_cast<std::size_t>(row) * bytes, bytes);
      }
    });
  };
}

}  // namespace

void register_gathering(Registry& registry) {
  registry.add(op::gather, {claim_read, bind_gather});
  registry.add(op::index_select, {claim_read, bind_index_select});
  registry.add(op::scatter, {claim_write, bind_scatter});
  registry.add(op::scatter_add, {claim_add, bind_scatter_add});
  registry.add(op::index_add, {claim_add, bind_index_add});
}

}  // namespace reprise::loops
