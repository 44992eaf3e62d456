// SPDX-License-Identifier: Apache-2.0
// The training step that a command's options describe: for commands that look at a step without running it.
#pragma once

#include "compiler/compile.h"
#include "nn/gpt_config.h"
#include "options/resolved_options.h"

namespace reprise {

/// The model of the options, with its sizes and ties as they say.
GptConfig model_of(const ResolvedOptions& options);

/// The request that compiles the step of `config`, as `reprise train` would make it.
TrainingRequest training_request(const ResolvedOptions& options, const GptConfig& config);

}  // namespace reprise
