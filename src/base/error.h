// SPDX-License-Identifier: Apache-2.0
// The three kinds of error reprise reports. Every layer throws these and nothing else.
#pragma once

#include <stdexcept>
#include <string>

namespace reprise {

/// Common root, so that a front end can catch every reprise error at once.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller can fix it. The text says what is wrong, the values, and what to do; lower case, values last.
class UserError : public Error {
 public:
  using Error::Error;
};

/// Something is too large for any memory: smaller sizes may do.
class SizeError : public UserError {
 public:
  using UserError::UserError;
};

/// A bug in reprise.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// A device failed: a driver call, a kernel launch, device memory.
class DeviceError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& message);

}  // namespace reprise

/// Throws InternalError naming the condition and the place when `condition` does not hold.
#define REPRISE_CHECK(condition, message)                                                          \
  do {                                                                                             \
    if (!(condition)) ::reprise::fail_check(#condition, __FILE__, __LINE__, (message));            \
  } while (false)
