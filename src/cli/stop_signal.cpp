// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.h"

#include <csignal>
#include <thread>

#include <unistd.h>

namespace reprise {
namespace {

std::atomic<int> stop_signal{0};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/// Takes the signals as they come: the first is noted, the second ends the process as if nobody had asked for signals.
void wait_for_signals() {
  const sigset_t set = stop_signals();
  int number = 0;
  if (sigwait(&set, &number) != 0) return;
  stop_signal.store(number);
  if (sigwait(&set, &number) != 0) return;
  std::signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), number);
}

}  // namespace

const std::atomic<int>& catch_stop_signals() {
  // No handler runs on a thread that computes: oneDNN's generated products keep data below the stack pointer, where a handler's
  // frame would be pushed. The mask is inherited by every thread made from now on.
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread(wait_for_signals).detach();
  return stop_signal;
}

}  // namespace reprise
