// SPDX-License-Identifier: Apache-2.0
// Offsets for buffers with known lifetimes: dynamic storage allocation, offline. Greedy, deterministic; knows no trace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

/// Every storage starts at a multiple of this many bytes.
inline constexpr std::int64_t kArenaAlignment = 64;

constexpr std::int64_t align_up(std::int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

/// `bytes` alive at every position of [first, last].
struct Buffer {
  std::int64_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  // one per buffer
  std::int64_t peak = 0;              // largest offset + bytes
};

/// Returns the largest sum of bytes alive at one position: no placement has a smaller peak.
std::int64_t peak_live_bytes(std::span<const Buffer> buffers);

/// Returns offsets, multiples of `alignment`, such that buffers alive together are disjoint. Tries a portfolio of orders,
/// then moves forward the buffers that make the peak; stops within 0.4% of the lower bound.
Placement place_buffers(std::span<const Buffer> buffers, std::int64_t alignment = kArenaAlignment);

}  // namespace reprise
