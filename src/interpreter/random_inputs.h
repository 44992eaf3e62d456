// SPDX-License-Identifier: Apache-2.0
// Seeded inputs for any trace: for passes that compare results before and after, and for running a printed trace.
#pragma once

#include <cstdint>
#include <vector>

#include "interpreter/host_tensor.h"
#include "ir/trace.h"

namespace reprise {

/// One tensor per input of `trace`: floating numbers in [-1, 1), positive for role scalar; integers in [0, `integers`), one
/// more for role scalar (a step counts from 1); both Philox draws named by (seed, the input's name), so that inputs that come or go
/// leave the others alone.
std::vector<HostTensor> random_inputs(const Trace& trace, std::uint64_t seed, std::int64_t integers = 2);

}  // namespace reprise
