// SPDX-License-Identifier: Apache-2.0
// The executors there are, by name: what `--executors` chooses from.
#pragma once

#include <span>
#include <string_view>

#include "executor/claim_trace.h"

namespace reprise {

/// The value of `--executors` by default.
inline constexpr std::string_view kDefaultExecutors = "onednn,loops,reference";

/// Names of all executors, in the default order.
std::span<const std::string_view> executor_names();

/// Executors by comma-separated names, in the order given. UserError for a name that is unknown (naming the nearest), given
/// twice or empty.
ExecutorList make_executor_list(std::string_view names = kDefaultExecutors);

}  // namespace reprise
