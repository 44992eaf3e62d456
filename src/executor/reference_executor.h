// SPDX-License-Identifier: Apache-2.0
// The fallback executor: the op table's `evaluate` on dense arrays. Slow, and the only one that allocates while it runs, but for
// users' opaque ops: they compute on the arena itself.
#pragma once

#include "executor/executor.h"

namespace reprise {

/// The executor "reference". Takes every op that has an `evaluate` or a decomposition.
const Executor& reference_executor();

}  // namespace reprise
