// SPDX-License-Identifier: Apache-2.0
// What ties options together: values that follow from others, and combinations that contradict or could not act.
#pragma once

#include "options/resolved_options.h"

namespace reprise {

/// Sets what follows from other options (global_batch_size, min_lr, warmup_steps, one end of training) and refuses
/// contradictions. UserError naming both options and their values.
void apply_option_rules(ResolvedOptions& options);

/// Refuses a command without what it cannot do without.
void require_options(const ResolvedOptions& options);

}  // namespace reprise
