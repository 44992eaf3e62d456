// SPDX-License-Identifier: Apache-2.0
// A claim: what an executor asks and promises when it takes a node. Claim tables are data: they include no library
// header, so that planners can price and refuse without the library being there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/trace.h"

namespace reprise {

struct Target;

/// Which strides an executor accepts of an input. Where the value lies otherwise, a `copy` node is made before the
/// schedule. Strides are in elements; 0 (a broadcast dimension) is free wherever strides are. Dimensions of extent 1 never count.
enum class InputLayout : std::uint8_t {
  dense,     // row-major without gaps
  rows,      // the last dimension has stride 1, the others are free
  matrices,  // one of the last two dimensions has stride 1 and the other is at least its extent apart; leading ones are free
  any,
};

/// Output `output` may be written onto the storage of input `input`, of equal bytes and dense, while the node runs:
/// every element is read before it is written, by the same thread.
struct InPlacePair {
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  friend bool operator==(const InPlacePair&, const InPlacePair&) = default;
};

struct Claim {
  std::int64_t workspace_bytes = 0;  // scratch in the arena, 64-byte aligned, contents undefined
  std::int64_t library_bytes = 0;    // bound on what a library allocates by itself, all threads together
  bool row_stable = false;           // a slice of rows (multiples of 512) gives the bits of the whole
  std::vector<InputLayout> layouts;  // one per input; empty: all dense
  std::vector<InPlacePair> in_place;

  InputLayout layout(std::size_t input) const { return layouts.empty() ? InputLayout::dense : layouts[input]; }
  friend bool operator==(const Claim&, const Claim&) = default;
};

/// A trace in which every node that computes has its executor's claim, by node index; views share storage and have none.
/// Every layout that a claim asks for holds, outputs are dense, and every donation can be carried out in some order.
struct ClaimedTrace {
  Trace trace;
  std::vector<Claim> claims;
  friend bool operator==(const ClaimedTrace&, const ClaimedTrace&) = default;
};

/// What a claim table decides on.
struct ClaimRequest {
  const Node& node;
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  const Target& target;
  int threads = 1;
};

/// Whether strides (one per dimension of `shape`, in elements) satisfy `need`.
bool layout_satisfies(InputLayout need, const Shape& shape, std::span<const std::int64_t> strides);

}  // namespace reprise
