// SPDX-License-Identifier: Apache-2.0
// The machine's own matrix-product speed, which model FLOP utilization is measured against.
#pragma once

#include "compiler/compile.h"

namespace reprise {

/// Returns the highest floating-point operations per second that the executors reach on one square float32 product large
/// enough to be limited by arithmetic, over repetitions of at most `seconds` in all (one repetition at least).
double measure_matmul_peak(const CompileOptions& compile, double seconds);

}  // namespace reprise
