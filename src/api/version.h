// SPDX-License-Identifier: Apache-2.0
// The version of the library that runs, which need not be the one a program was built with.
#pragma once

#include <string_view>

namespace reprise {

/// Returns "MAJOR.MINOR.PATCH".
std::string_view version();

}  // namespace reprise
