// SPDX-License-Identifier: Apache-2.0
// How a pointwise op runs: the output is cut into chunks that fit the first-level cache; an operand that is dense and of the computed
// type is read in place, any other is first gathered and converted into a chunk-sized buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "executor/loops/registry.h"
#include "executor/loops/walk.h"

namespace reprise::loops {

enum class PointwiseKind : std::uint8_t { unary, binary, compare, where, masked_fill, addcmul, logical_not };

/// Everything but addresses.
struct PointwisePlan {
  PointwiseKind kind = PointwiseKind::unary;
  std::size_t function = 0;  // index into the table of its kind
  Walk walk;
  std::size_t inputs = 1;
  std::array<DType, 3> in{};
  DType out = DType::float32;
  std::array<double, 2> params{};
  bool flat = true;
  const Kernels* kernels = nullptr;
};

/// The type an op on these inputs is computed in.
DType compute_dtype(DType dtype);

/// The kernel of `plan`, of which kind, function and parameters are set, on the request's operands.
Kernel bind_pointwise(PointwisePlan plan, const BindRequest& request, const Kernels& kernels, DType computed);

}  // namespace reprise::loops
