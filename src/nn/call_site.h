// SPDX-License-Identifier: Apache-2.0
// The line of code that called a function, as the default value of its last parameter. What std::source_location is for; clang 14 has
// the builtins but not the class.
#pragma once

#include <cstdint>

namespace reprise {

struct CallSite {
  const char* file = "";
  std::uint32_t line = 0;

  /// Returns where it is called; as a default argument, where the function is called that it belongs to.
  static constexpr CallSite current(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace reprise
