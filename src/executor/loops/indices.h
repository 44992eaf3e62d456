// SPDX-License-Identifier: Apache-2.0
// Index operands of lookups and scatters, int32 or int64: read, and checked before anything is read or written by them.
#pragma once

#include <cstdint>
#include <string_view>

#include "executor/executor.h"

namespace reprise::loops {

constexpr bool is_index(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }

/// Returns element i of a dense index operand.
inline std::int64_t index_at(const TensorView& index, std::int64_t i) {
  return index.type->dtype == DType::int32 ? index.as<const std::int32_t>()[i] : index.as<const std::int64_t>()[i];
}

/// Throws UserError naming the op unless every index lies in [0, extent).
void require_indices(std::string_view op, const TensorView& index, std::int64_t extent);

}  // namespace reprise::loops
