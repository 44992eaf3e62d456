// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise_eval.h"

namespace reprise {

std::vector<std::size_t> broadcast_map(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> dense = from.dense_strides();
  const std::size_t lead = to.rank() - from.rank();
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  for (std::size_t d = lead; d < to.rank(); ++d) strides[d] = from[d - lead] == 1 ? 0 : dense[d - lead];

  std::vector<std::size_t> map(static_cast<std::size_t>(to.numel()));
  std::array<std::int64_t, Shape::kMaxRank> place{};
  std::int64_t source = 0;
  for (std::size_t& entry : map) {
    entry = static_cast<std::size_t>(source);
    for (std::size_t d = to.rank(); d-- > 0;) {
      source += strides[d];
      if (++place[d] < to[d]) break;
      source -= strides[d] * to[d];
      place[d] = 0;
    }
  }
  return map;
}

}  // namespace reprise
