// SPDX-License-Identifier: Apache-2.0
// A policy together with what its files hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "recompute/solve.h"

namespace reprise {

/// Reads a policy's text form, and the save list or plan that it names; `file_text` is what that file holds where it was read before.
/// UserError for text that is no policy, and for a file that cannot be read.
RecomputeOptions read_recompute_options(std::string_view policy, std::optional<std::string> file_text = {});

}  // namespace reprise
