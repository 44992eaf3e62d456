// SPDX-License-Identifier: Apache-2.0
// Proof on the spot that a recompute policy changes no bit: one step with it and one without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/compile.h"
#include "train/gpt_programs.h"

namespace reprise {

/// Runs one step of the model under `compile.recompute` and one under `none`, both from fresh weights of `seed` and on the
/// same random tokens, and compares the bytes of the loss, of every gradient and of every updated parameter and state.
/// Returns the name of the first that differs, or nothing. One arena at a time is mapped; UserError when it does not fit.
std::optional<std::string> recompute_difference(const GptProgramOptions& options, const CompileOptions& compile, std::uint64_t seed);

}  // namespace reprise
