// SPDX-License-Identifier: Apache-2.0
// Runs one optimizer step: feeds micro-batches, learning rate and draws to accumulate and step. Everything it feeds is a
// function of the step's number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "executor/engine.h"
#include "train/batch_sampler.h"
#include "train/gpt_programs.h"
#include "train/lr_schedule.h"

namespace reprise {

struct TrainerOptions;

struct StepResult {
  double loss = 0;           // mean over the step's targets
  double grad_norm = 0;      // before clipping
  double learning_rate = 0;
};

class StepRunner {
 public:
  /// All arguments but the options outlive the runner. With a packing its rows are read, else windows of the tokens.
  StepRunner(const GptPrograms& programs, Engine& engine, const TrainerOptions& options, const TokenView& tokens,
             const DocumentPacking* packing);

  /// Runs step `step` (from 0) on the engine's parameters.
  StepResult run(std::int64_t step);
  /// As run, looking at every value: where the loss (or else the gradient norm) owes its first NaN or infinity to.
  std::optional<NonFinite> run_checked(std::int64_t step, bool loss);

 private:
  /// Inputs of a program, by index; absent ones are empty.
  struct Inputs {
    std::size_t tokens = 0, targets = 0, inv_kept = 0;
    std::optional<std::size_t> positions, lr, step, rounding_seed, rng_seed, rng_offset;
  };
  static Inputs inputs_of(const Program& program);
  void feed(Program& program, const Inputs& inputs, std::int64_t step, std::int64_t micro_step);
  /// Runs the micro-steps before the last; returns their loss.
  double accumulate(std::int64_t step);

  Program& step_;
  Program* accumulate_ = nullptr;
  Inputs step_inputs_;
  Inputs accumulate_inputs_;
  BatchSampler sampler_;
  const TokenView tokens_;
  LrSchedule schedule_;
  std::uint64_t seed_ = 0;
  std::int64_t micro_steps_ = 1;
  std::int64_t words_ = 0;  // random words of a micro-step
  std::int64_t counted_step_ = -1;  // the step that inv_kept_ is of
  double inv_kept_ = 0;             // 1 / targets that count in all of its micro-steps
  std::size_t norm_output_ = 0;
  bool has_norm_ = false;
};

/// Mean validation loss over the batches (all, or `eval_batches` of them spread evenly), by program "eval". Nothing when the stop
/// signal came before the last batch. UserError when the batches have no target.
std::optional<double> evaluate_batches(Engine& engine, const ValidationBatches& batches, const TokenView& tokens,
                                       const TrainerOptions& options);

}  // namespace reprise
