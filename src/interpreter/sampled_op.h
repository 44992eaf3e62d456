// SPDX-License-Identifier: Apache-2.0
// An op's sample as something that can be run: for the checks that every op must pass.
#pragma once

#include <cstdint>
#include <vector>

#include "interpreter/host_tensor.h"
#include "ir/trace.h"
#include "ops/row.h"

namespace reprise {

/// A trace and numbers for its inputs.
struct SampledOp {
  Trace trace;
  std::vector<HostTensor> inputs;
};

/// Makes a trace of the op alone; `wide`: with the floating types widened to float64, those of its bodies too, which hold no
/// constants of their own type.
SampledOp sampled_op(Opcode opcode, const OpSample& sample, bool wide = false);

/// Fills a tensor of `type` with Philox draws of `seed` from the range of `input`, whole numbers where the type is.
HostTensor sampled_input(const SampleInput& input, const TensorType& type, std::uint64_t seed);

}  // namespace reprise
