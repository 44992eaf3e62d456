// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a number that a loop looks at. A second signal ends the process at once.
#pragma once

#include <atomic>

namespace reprise {

/// Starts the thread that takes both signals, and returns where the number of the first appears; 0 until then. Call it before
/// any other thread is made.
const std::atomic<int>& catch_stop_signals();

}  // namespace reprise
