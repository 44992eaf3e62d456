// SPDX-License-Identifier: Apache-2.0
// Data movement: copies of any strides, fills, concatenation, padding.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "executor/loops/registry.h"
#include "executor/loops/walk.h"

namespace reprise::loops {
namespace {

/// Elements one thread should at least move.
constexpr std::int64_t kRun = 4096;

/// Copies a strided source to a strided destination, elements of type U (their bits are all that matters).
template <class U>
class StridedCopy {
 public:
  /// `to` and `from`: operands of the walk.
  StridedCopy(const Walk& walk, std::size_t to, std::size_t from) : walk_(walk), to_(walk.strides[to]), from_(walk.strides[from]) {
    // The dimension along which the source is dense: with the inner one it makes a plane that is copied in tiles.
    const std::size_t last = walk_.rank - 1;
    if (from_[last] == 1 || from_[last] == 0) return;
    for (std::size_t d = 0; d < last; ++d) {
      if (from_[d] == 1 && walk_.extents[d] >= 8) plane_ = static_cast<std::int64_t>(d);
    }
  }

  /// Units of work: rows of the inner dimension, or planes' strips of kTile inner rows.
  std::int64_t items() const {
    if (plane_ < 0) return walk_.outer() * pieces();
    return walk_.outer() / walk_.extents[static_cast<std::size_t>(plane_)] * strips();
  }

  void run(const U* from, U* to, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t item = begin; item < end; ++item) plane_ < 0 ? row(from, to, item) : strip(from, to, item);
  }

 private:
  static constexpr std::int64_t kTile = 16;

  std::int64_t pieces() const { return (walk_.inner() + kRun - 1) / kRun; }
  std::int64_t strips() const { return (walk_.extents[static_cast<std::size_t>(plane_)] + kTile - 1) / kTile; }

  void row(const U* from, U* to, std::int64_t item) const {
    const std::size_t last = walk_.rank - 1;
    const std::int64_t first = item % pieces() * kRun;
    const std::int64_t n = std::min(kRun, walk_.inner() - first);
    std::int64_t rest = item / pieces();
    std::int64_t source = first * from_[last];
    std::int64_t destination = first * to_[last];
    for (std::size_t d = last; d-- > 0;) {
      const std::int64_t index = rest % walk_.extents[d];
      rest /= walk_.extents[d];
      source += index * from_[d];
      destination += index * to_[d];
    }
    const U* const p = from + source;
    U* const q = to + destination;
    if (from_[last] == 1 && to_[last] == 1) {
      std::memcpy(q, p, static_cast<std::size_t>(n) * sizeof(U));
    } else {
      for (std::int64_t i = 0; i < n; ++i) q[i * to_[last]] = p[i * from_[last]];
    }
  }

  /// kTile indices of the plane's dimension times the whole inner dimension.
  void strip(const U* from, U* to, std::int64_t item) const {
    const auto plane = static_cast<std::size_t>(plane_);
    const std::size_t last = walk_.rank - 1;
    std::int64_t rest = item / strips();
    std::int64_t source = 0;
    std::int64_t destination = 0;
    for (std::size_t d = last; d-- > 0;) {
      if (d == plane) continue;
      const std::int64_t index = rest % walk_.extents[d];
      rest /= walk_.extents[d];
      destination += index * to_[d];
      source += index * from_[d];
    }
    const std::int64_t first = item % strips() * kTile;
    const std::int64_t height = std::min(kTile, walk_.extents[plane] - first);
    source += first;
    destination += first * to_[plane];
    for (std::int64_t left = 0; left < walk_.inner(); left += kTile) {
      const std::int64_t width = std::min(kTile, walk_.inner() - left);
      for (std::int64_t i = 0; i < height; ++i) {
        const U* p = from + source + i + left * from_[last];
        U* q = to + destination + i * to_[plane] + left * to_[last];
        for (std::int64_t j = 0; j < width; ++j) q[j * to_[last]] = p[j * from_[last]];
      }
    }
  }

  using Strides = std::array<std::int64_t, Shape::kMaxRank>;

  Walk walk_;
  Strides to_, from_;
  std::int64_t plane_ = -1;
};

std::optional<Claim> claim_copy(const ClaimRequest&) {
  Claim claim;
  claim.layouts = {InputLayout::any};
  return claim;
}

template <class U>
Kernel copy_kernel(const Walk& walk) {
  return [copy = StridedCopy<U>(walk, 0, 1)](const KernelCall& call) {
    const auto* const from = call.inputs[0].as<const U>();
    auto* const to = call.outputs[0].as<U>();
    call.pool.parallel_for(static_cast<std::size_t>(copy.items()), [&](std::size_t begin, std::size_t end, int) {
      copy.run(from, to, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
    });
  };
}

Kernel bind_copy(const BindRequest& request, const Kernels&) {
  const StridedShape input{&request.inputs[0].type->shape, request.inputs[0].strides};
  const Walk walk = make_walk(request.outputs[0].type->shape, std::span(&input, 1));
  switch (dtype_size(request.outputs[0].type->dtype)) {
    case 1: return copy_kernel<std::uint8_t>(walk);
    case 2: return copy_kernel<std::uint16_t>(walk);
    case 4: return copy_kernel<std::uint32_t>(walk);
    default: return copy_kernel<std::uint64_t>(walk);
  }
}

std::optional<Claim> claim_constant(const ClaimRequest& request) {
  if (request.outputs[0].dtype == DType::float16) return std::nullopt;
  return Claim{};
}

/// One element of a fill, as bytes.
struct Pattern {
  std::array<std::byte, 8> bytes{};
  std::size_t size = 0;
};

Pattern pattern_of(const Kernels& kernels, DType dtype, double value) {
  Pattern pattern;
  pattern.size = dtype_size(dtype);
  if (is_floating(dtype)) {
    kernels.pointwise_f64.store(&value, dtype, pattern.bytes.data(), 1);
  } else {
    const std::int64_t whole = dtype == DType::boolean ? std::int64_t{value != 0} : static_cast<std::int64_t>(value);
    kernels.pointwise_i64.store(&whole, dtype, pattern.bytes.data(), 1);
  }
  return pattern;
}

void fill(std::byte* to, std::int64_t n, const Pattern& pattern) {
  const auto typed = [&]<class U>(U) {
    U value;
    std::memcpy(&value, pattern.bytes.data(), sizeof(U));
    std::fill_n(reinterpret_cast<U*>(to), n, value);
  };
  switch (pattern.size) {
    case 1: return typed(std::uint8_t{});
    case 2: return typed(std::uint16_t{});
    case 4: return typed(std::uint32_t{});
    default: return typed(std::uint64_t{});
  }
}

Kernel bind_full(const BindRequest& request, const Kernels& kernels) {
  const auto& attrs = request.node.as<FullAttrs>();
  const Pattern pattern = pattern_of(kernels, attrs.dtype, attrs.value);
  const std::int64_t n = request.outputs[0].type->shape.numel();
  return [pattern, n](const KernelCall& call) {
    call.pool.parallel_for(static_cast<std::size_t>((n + kRun - 1) / kRun), [&](std::size_t begin, std::size_t end, int) {
      const auto first = static_cast<std::int64_t>(begin) * kRun;
      const std::int64_t last = std::min(n, static_cast<std::int64_t>(end) * kRun);
      fill(call.outputs[0].data + static_cast<std::size_t>(first) * pattern.size, last - first, pattern);
    });
  };
}

Kernel bind_iota(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<IotaAttrs>();
  return [attrs, kernels = &kernels](const KernelCall& call) {
    std::byte* const to = call.outputs[0].data;
    for (std::int64_t i = 0; i < attrs.size; ++i) {
      const std::int64_t value = attrs.start + i * attrs.step;
      kernels->pointwise_i64.store(&value, attrs.dtype, to + static_cast<std::size_t>(i) * dtype_size(attrs.dtype), 1);
    }
  };
}

std::optional<Claim> claim_cat(const ClaimRequest& request) {
  Claim claim;
  claim.layouts.assign(request.inputs.size(), InputLayout::any);
  return claim;
}

/// Copies each input to its place along the joined dimension.
template <class U>
Kernel cat_kernel(const BindRequest& request) {
  const Shape& out = request.outputs[0].type->shape;
  const std::vector<std::int64_t> strides = out.dense_strides();
  const std::size_t dim = out.wrap(request.node.as<DimAttrs>().dim);
  struct Part {
    StridedCopy<U> copy;
    std::size_t input;
    std::int64_t start;  // in elements of the output
    std::int64_t end;    // of its items, counted over all parts
  };
  std::vector<Part> parts;
  std::int64_t joined = 0;
  std::int64_t items = 0;
  for (std::size_t k = 0; k < request.inputs.size(); ++k) {
    const Shape& shape = request.inputs[k].type->shape;
    if (shape.numel() != 0) {
      const StridedShape operands[] = {{&shape, strides}, {&shape, request.inputs[k].strides}};
      const StridedCopy<U> copy(make_walk(shape, operands), 1, 2);
      items += copy.items();
      parts.push_back({copy, k, joined * strides[dim], items});
    }
    joined += shape[dim];
  }
  return [parts = std::move(parts), items](const KernelCall& call) {
    call.pool.parallel_for(static_cast<std::size_t>(items), [&](std::size_t begin, std::size_t end, int) {
      auto item = static_cast<std::int64_t>(begin);
      std::int64_t first = 0;
      for (const Part& part : parts) {
        const std::int64_t last = std::min(part.end, static_cast<std::int64_t>(end));
        if (item < last) {
          part.copy.run(call.inputs[part.input].template as<const U>(), call.outputs[0].template as<U>() + part.start, item - first, last - first);
          item = last;
        }
        first = part.end;
      }
    });
  };
}

Kernel bind_cat(const BindRequest& request, const Kernels&) {
  switch (dtype_size(request.outputs[0].type->dtype)) {
    case 1: return cat_kernel<std::uint8_t>(request);
    case 2: return cat_kernel<std::uint16_t>(request);
    case 4: return cat_kernel<std::uint32_t>(request);
    default: return cat_kernel<std::uint64_t>(request);
  }
}

std::optional<Claim> claim_pad(const ClaimRequest& request) {
  if (request.inputs[0].shape.rank() == 0 || request.inputs[0].dtype == DType::float16) return std::nullopt;
  return Claim{};
}

Kernel bind_pad(const BindRequest& request, const Kernels& kernels) {
  const auto& attrs = request.node.as<PadAttrs>();
  const Shape in = request.inputs[0].type->shape;
  const Shape out = request.outputs[0].type->shape;
  std::array<std::int64_t, Shape::kMaxRank> before{};
  std::copy(attrs.before.begin(), attrs.before.end(), before.begin());
  const Pattern pattern = pattern_of(kernels, request.outputs[0].type->dtype, attrs.value);
  return [in, out, before, pattern](const KernelCall& call) {
    const std::size_t last = out.rank() - 1;
    const std::int64_t rows = out[last] == 0 ? 0 : out.numel() / out[last];
    const std::int64_t lead = std::clamp<std::int64_t>(before[last], 0, out[last]);
    const std::int64_t skip = std::max<std::int64_t>(-before[last], 0);
    const std::int64_t count = std::clamp<std::int64_t>(in[last] - skip, 0, out[last] - lead);
    call.pool.parallel_for(static_cast<std::size_t>(rows), [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t row = begin; row < end; ++row) {
        std::byte* const to = call.outputs[0].data + row * static_cast<std::size_t>(out[last]) * pattern.size;
        auto rest = static_cast<std::int64_t>(row);
        std::int64_t source = 0;
        std::int64_t stride = in[last];
        bool inside = true;
        for (std::size_t d = last; d-- > 0;) {
          const std::int64_t index = rest % out[d] - before[d];
          rest /= out[d];
          inside = inside && index >= 0 && index < in[d];
          source += index * stride;
          stride *= in[d];
        }
        if (!inside) {
          fill(to, out[last], pattern);
          continue;
        }
        fill(to, lead, pattern);
        std::memcpy(to + static_cast<std::size_t>(lead) * pattern.size,
                    call.inputs[0].data + static_cast<std::size_t>(source + skip) * pattern.size, static_cast<std::size_t>(count) * pattern.size);
        fill(to + static_cast<std::size_t>(lead + count) * pattern.size, out[last] - lead - count, pattern);
      }
    });
  };
}

}  // namespace

void register_movement(Registry& registry) {
  registry.add(op::copy, {claim_copy, bind_copy});
  registry.add(op::full, {claim_constant, bind_full});
  registry.add(op::iota, {claim_constant, bind_iota});
  registry.add(op::cat, {claim_cat, bind_cat});
  registry.add(op::pad, {claim_pad, bind_pad});
}

}  // namespace reprise::loops
