// SPDX-License-Identifier: Apache-2.0
// Copies and comparisons of bytes that may be none at all: memcpy and memcmp take no null pointer, even for no byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/error.h"

namespace reprise {

/// Copies all of `from`, which must not overlap, to the beginning of `to`. InternalError when it does not fit.
inline void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) {
  REPRISE_CHECK(from.size() <= to.size(), "bytes are copied to a place that is too small");
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

/// Whether both hold the same bytes, and as many.
inline bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

}  // namespace reprise
