// SPDX-License-Identifier: Apache-2.0
// The executor "loops": compiled, vectorised, threaded loops per op that keep the numeric contract bit for bit.
#pragma once

#include "executor/executor.h"

namespace reprise {

/// The executor. Bits do not depend on threads, instruction set or blocking; every claim is row-stable.
const Executor& loops_executor();

}  // namespace reprise
