// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <fmt/format.h>

namespace reprise {

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(fmt::format("{} (check `{}` failed at {}:{})", message, condition, file, line));
}

}  // namespace reprise
