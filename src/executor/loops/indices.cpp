// SPDX-License-Identifier: Apache-2.0
#include "executor/loops/indices.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reprise::loops {

void require_indices(std::string_view op, const TensorView& index, std::int64_t extent) {
  const std::int64_t n = index.type->shape.numel();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t value = index_at(index, i);
    if (value < 0 || value >= extent) throw UserError(fmt::format("{}: index out of range for extent {}: {}", op, extent, value));
  }
}

}  // namespace reprise::loops
