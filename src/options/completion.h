// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, made from the option table.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

/// Returns the script for `shell`: bash, zsh or fish. InternalError for another.
std::string completion_script(std::string_view shell);

}  // namespace reprise
