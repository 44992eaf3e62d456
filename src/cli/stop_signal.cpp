// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.h"

#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include <unistd.h>

#include "cli/standard_streams.h"

namespace reprise {
namespace {

std::atomic<int> stop_signal{0};
std::atomic<bool> looked_for{false};
std::mutex message_mutex;
std::string early_message;

/// Whether the caller of the program ignores the signal.
bool is_ignored(int number) {
  struct sigaction action = {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (number != SIGHUP || !is_ignored(number)) sigaddset(&set, number);
  }
  return set;
}

/// Ends the process as if nobody had asked for signals.
void end_by(int number) {
  const sigset_t set = stop_signals();
  std::signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), number);
}

void wait_for_signals() {
  const sigset_t set = stop_signals();
  int number = 0;
  if (sigwait(&set, &number) != 0) return;
  // The number is stored before anybody is asked for: whoever begins to look just now still sees it.
  stop_signal.store(number);
  if (looked_for.load()) {
    if (sigwait(&set, &number) != 0) return;
  } else {
    const std::lock_guard lock(message_mutex);
    print_error(early_message);
  }
  end_by(number);
}

}  // namespace

const std::atomic<int>& catch_stop_signals() {
  // No handler runs on a thread that computes: oneDNN's generated products keep data below the stack pointer, where a handler's
  // frame would be pushed. The mask is inherited by every thread made from now on.
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::thread(wait_for_signals).detach();
  return stop_signal;
}

void set_early_stop_message(std::string message) {
  const std::lock_guard lock(message_mutex);
  early_message = std::move(message);
}

void look_for_stop_signals() { looked_for.store(true); }

}  // namespace reprise
