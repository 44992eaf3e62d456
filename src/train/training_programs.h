// SPDX-License-Identifier: Apache-2.0
// The programs of a training run, and what is said when they do not fit into memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "executor/engine.h"
#include "train/gpt_programs.h"

namespace reprise {

struct TrainerOptions;

/// Tokens that the prefill of a sample takes at once.
std::int64_t prefill_length(const TrainerOptions& options);

/// Compiles the programs of a run; `evaluate`: it has validation data. What is clearly too large is refused before anything is traced.
/// `resumed` runs keep their sizes. UserError when they do not fit, with the options of a run that does.
GptPrograms compile_training_run(const TrainerOptions& options, bool evaluate, bool resumed);

/// Options of the engine for these programs, with the options of a smaller run where memory does not suffice.
EngineOptions training_engine_options(const TrainerOptions& options, const GptPrograms& programs, bool resumed);

/// As recompute_difference, of the run's step, from fresh weights.
std::optional<std::string> training_recompute_difference(const TrainerOptions& options);

}  // namespace reprise
