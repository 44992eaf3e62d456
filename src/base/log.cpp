// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <mutex>
#include <utility>

namespace reprise {
namespace {

struct Sink {
  std::mutex mutex;
  LogCallback callback;
};

Sink& sink() {
  static Sink instance;
  return instance;
}

}  // namespace

LogCallback set_log_callback(LogCallback callback) {
  const std::lock_guard lock(sink().mutex);
  return std::exchange(sink().callback, std::move(callback));
}

void log_message(LogLevel level, const std::string& message) {
  LogCallback callback;
  {
    const std::lock_guard lock(sink().mutex);
    callback = sink().callback;  // called outside the lock, so that it may itself log or replace itself
  }
  if (callback) callback(level, message);
}

}  // namespace reprise
