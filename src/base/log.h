// SPDX-License-Identifier: Apache-2.0
// The library never prints: it hands messages to a callback of the program around it, and without one they are dropped.
#pragma once

#include <functional>
#include <string>

namespace reprise {

enum class LogLevel { info, warning };

using LogCallback = std::function<void(LogLevel, const std::string&)>;

/// Makes `callback` receive every later message of this process (an empty one: none). Returns the one it replaces. Thread-safe.
LogCallback set_log_callback(LogCallback callback);

/// Sends `message` (lower case, values last, no newline) to the callback.
void log_message(LogLevel level, const std::string& message);
inline void log_info(const std::string& message) { log_message(LogLevel::info, message); }
inline void log_warning(const std::string& message) { log_message(LogLevel::warning, message); }

}  // namespace reprise
