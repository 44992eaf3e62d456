// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as a number that a loop looks at. A second signal ends the process at once.
#pragma once

#include <atomic>
#include <string>

namespace reprise {

/// Starts the thread that takes the signals, and returns where the number of the first appears; 0 until then. Call it before any
/// other thread is made. Until look_for_stop_signals the first signal ends the process at once, since nobody looks. A SIGHUP that
/// the caller ignores (nohup) stays ignored; a reader of the output that goes away (SIGPIPE) is no reason to stop.
const std::atomic<int>& catch_stop_signals();

/// What is said when a signal ends the process before anybody looks, such as how to start again; empty: nothing.
void set_early_stop_message(std::string message);

/// From now on somebody looks at the number and ends in good order.
void look_for_stop_signals();

}  // namespace reprise
