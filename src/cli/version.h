// SPDX-License-Identifier: Apache-2.0
// The version of the program, from the build.
#pragma once

#include <string_view>

namespace reprise {

inline constexpr std::string_view kVersion = REPRISE_VERSION;

}  // namespace reprise
