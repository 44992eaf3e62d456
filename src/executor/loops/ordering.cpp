// SPDX-License-Identifier: Apache-2.0
// The largest or smallest elements of rows, in order: rows are split over threads, each orders the places of one row at a time.
#include <algorithm>
#include <numeric>

#include "base/thread_pool.h"
#include "executor/loops/registry.h"

namespace reprise::loops {
namespace {

std::size_t row_width(const Shape& shape) { return shape.rank() == 0 ? 1 : static_cast<std::size_t>(shape.back()); }

std::optional<Claim> claim_topk(const ClaimRequest& request) {
  const TensorType& x = request.inputs[0];
  if (!is_computed(x.dtype)) return std::nullopt;
  if (x.shape.rank() != 0 && x.shape.wrap(request.node.as<TopkAttrs>().dim) != x.shape.rank() - 1) return std::nullopt;
  Claim claim;
  claim.workspace_bytes = static_cast<std::int64_t>(row_width(x.shape) * sizeof(std::int64_t)) * request.threads;
  return claim;
}

/// Whether place a comes before place b: NaN counts as largest, of equal elements the first comes first.
template <class E>
bool comes_before(const E* row, bool largest, std::int64_t a, std::int64_t b) {
  const auto x = attention::widen(row[a]);
  const auto y = attention::widen(row[b]);
  const auto below = [](auto p, auto q) { return p < q || (q != q && p == p); };
  if (below(x, y)) return !largest;
  if (below(y, x)) return largest;
  return a < b;
}

Kernel bind_topk(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<TopkAttrs>();
  const Shape& shape = request.inputs[0].type->shape;
  const std::size_t width = row_width(shape);
  const auto rows = width == 0 ? std::size_t{0} : static_cast<std::size_t>(shape.numel()) / width;
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>&) -> Kernel {
    return [attrs, width, rows](const KernelCall& call) {
      const auto k = static_cast<std::size_t>(attrs.k);
      call.pool.parallel_for(rows, [&](std::size_t begin, std::size_t end, int thread) {
        auto* const places = reinterpret_cast<std::int64_t*>(call.workspace.data()) + static_cast<std::size_t>(thread) * width;
        for (std::size_t row = begin; row < end; ++row) {
          const E* const x = call.inputs[0].as<const E>() + row * width;
          std::iota(places, places + width, std::int64_t{0});
          std::partial_sort(places, places + k, places + width,
                            [&](std::int64_t a, std::int64_t b) { return comes_before(x, attrs.largest, a, b); });
          for (std::size_t i = 0; i < k; ++i) {
            call.outputs[0].as<E>()[row * k + i] = x[places[i]];
            call.outputs[1].as<std::int64_t>()[row * k + i] = places[i];
          }
        }
      });
    };
  });
}

}  // namespace

void register_ordering(Registry& registry) { registry.add(op::topk, {claim_topk, bind_topk}); }

}  // namespace reprise::loops
