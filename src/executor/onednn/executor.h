// SPDX-License-Identifier: Apache-2.0
// The `onednn` executor: float32 matmul, linear and matmul_accumulate.
#pragma once

#include "executor/executor.h"

namespace reprise {

/// The executor. What it keeps of the numeric contract: the bits do not depend on the thread count. What it does not:
/// the order of additions over k is oneDNN's, so it is never row-stable.
const Executor& onednn_executor();

}  // namespace reprise
