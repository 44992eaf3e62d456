// SPDX-License-Identifier: Apache-2.0
// Proof on the spot that a recompute policy changes no bit: one step with it and one without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "train/gpt_programs.h"

namespace reprise {

/// A program of a model, run once under `none` from fresh weights of `seed` and on random tokens: what its run under any policy
/// must equal. One arena at a time is mapped; UserError when it does not fit.
class RecomputeCheck {
 public:
  enum class Compared : std::uint8_t {
    gradients,   // forward and backward: the loss and every gradient
    step,        // the whole step: the loss, and every updated parameter and state
    accumulate,  // of several micro-steps: the loss and every accumulated gradient
  };
  RecomputeCheck(const GptProgramOptions& options, const CompileOptions& compile, std::uint64_t seed, Compared compared);

  /// Runs the program under `recompute` and compares the bytes of all outputs. Returns the name of the first that differs, or nothing.
  std::optional<std::string> difference(const RecomputeOptions& recompute) const;
  /// What is compiled.
  const Trace& trace() const { return trace_; }

 private:
  using Outputs = std::vector<std::vector<std::byte>>;
  Outputs run(const RecomputeOptions& recompute) const;

  GptProgramOptions options_;
  CompileOptions compile_;
  std::uint64_t seed_;
  GptTraining model_;
  Trace trace_;
  std::vector<std::string> outputs_;  // their names
  Outputs expected_;
};

/// The difference that `compile.recompute` makes to the gradients of a model, or to a program of its training; a plan from a file: to
/// the latter alone.
std::optional<std::string> recompute_difference(const GptProgramOptions& options, const CompileOptions& compile, std::uint64_t seed);

}  // namespace reprise
