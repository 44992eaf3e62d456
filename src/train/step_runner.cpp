// SPDX-License-Identifier: Apache-2.0
#include "train/step_runner.h"

#include <algorithm>

#include "base/error.h"
#include "passes/rng.h"
#include "train/trainer.h"

namespace reprise {
namespace {

/// Where a batch is filled in.
BatchSpans<std::int64_t> batch_of(Program& program, std::size_t tokens, std::size_t targets, const std::optional<std::size_t>& positions) {
  return {program.input_as<std::int64_t>(tokens), program.input_as<std::int64_t>(targets),
          positions ? program.input_as<std::int64_t>(*positions) : std::span<std::int64_t>()};
}

BatchSampler sampler_of(const TrainerOptions& options, const TokenView& tokens, const DocumentPacking* packing) {
  const BatchOptions batch{options.block_size, options.micro_batch_size, options.micro_steps, options.seed};
  return packing != nullptr ? BatchSampler(*packing, batch) : BatchSampler(tokens.size(), batch);
}

}  // namespace

StepRunner::Inputs StepRunner::inputs_of(const Program& program) {
  Inputs inputs;
  inputs.tokens = program.input_index("tokens");
  inputs.targets = program.input_index("targets");
  inputs.inv_kept = program.input_index("inv_kept");
  inputs.positions = program.find_input("positions");
  inputs.lr = program.find_input("lr");
  inputs.step = program.find_input("step");
  inputs.rounding_seed = program.find_input("rounding_seed");
  inputs.rng_seed = program.find_input(kSeedInput);
  inputs.rng_offset = program.find_input(kOffsetInput);
  return inputs;
}

StepRunner::StepRunner(const GptPrograms& programs, Engine& engine, const TrainerOptions& options, const TokenView& tokens,
                       const DocumentPacking* packing)
    : step_(engine.program("step")),
      accumulate_(engine.has_program("accumulate") ? &engine.program("accumulate") : nullptr),
      step_inputs_(inputs_of(step_)),
      sampler_(sampler_of(options, tokens, packing)),
      tokens_(tokens),
      schedule_(options.schedule),
      seed_(options.seed),
      micro_steps_(options.micro_steps),
      words_(programs.training->random_words),
      norm_output_(programs.training->forward_outputs),
      has_norm_(programs.training->has_grad_norm) {
  if (accumulate_ != nullptr) accumulate_inputs_ = inputs_of(*accumulate_);
}

void StepRunner::feed(Program& program, const Inputs& inputs, std::int64_t step, std::int64_t micro_step) {
  sampler_.fill(step, micro_step, tokens_, batch_of(program, inputs.tokens, inputs.targets, inputs.positions));
  if (counted_step_ != step) {
    const std::int64_t kept = sampler_.kept_targets(step, tokens_);
    inv_kept_ = kept > 0 ? 1.0 / static_cast<double>(kept) : 0.0;
    counted_step_ = step;
  }
  program.set_floating(inputs.inv_kept, inv_kept_);
  const auto seed = static_cast<std::int64_t>(seed_);
  if (inputs.rng_seed) program.set_scalar(*inputs.rng_seed, seed);
  if (inputs.rng_offset) program.set_scalar(*inputs.rng_offset, (step * micro_steps_ + micro_step) * words_);
  if (inputs.lr) program.set_floating(*inputs.lr, learning_rate(schedule_, step));
  if (inputs.step) program.set_scalar(*inputs.step, step + 1);
  if (inputs.rounding_seed) program.set_scalar(*inputs.rounding_seed, seed);
}

double StepRunner::accumulate(std::int64_t step) {
  double loss = 0;
  for (std::int64_t micro = 0; micro + 1 < micro_steps_; ++micro) {
    feed(*accumulate_, accumulate_inputs_, step, micro);
    accumulate_->run();
    loss += accumulate_->floating_output(0);
  }
  return loss;
}

StepResult StepRunner::run(std::int64_t step) {
  StepResult result;
  result.learning_rate = learning_rate(schedule_, step);
  result.loss = accumulate(step);
  feed(step_, step_inputs_, step, micro_steps_ - 1);
  step_.run();
  result.loss += step_.floating_output(0);
  if (has_norm_) result.grad_norm = step_.floating_output(norm_output_);
  return result;
}

std::optional<NonFinite> StepRunner::run_checked(std::int64_t step, bool loss) {
  for (std::int64_t micro = 0; micro + 1 < micro_steps_; ++micro) {
    feed(*accumulate_, accumulate_inputs_, step, micro);
    if (auto origin = accumulate_->run_checked(0)) return origin;
  }
  feed(step_, step_inputs_, step, micro_steps_ - 1);
  return step_.run_checked(loss ? 0 : norm_output_);
}

std::optional<double> evaluate_batches(Engine& engine, const ValidationBatches& batches, const TokenView& tokens,
                                       const TrainerOptions& options) {
  Program& program = engine.program("eval");
  const std::size_t inputs = program.input_index("tokens");
  const std::size_t targets = program.input_index("targets");
  const std::optional<std::size_t> positions = program.find_input("positions");
  const std::int64_t all = batches.batch_count();
  const std::int64_t measured = options.eval_batches > 0 ? std::min(options.eval_batches, all) : all;
  double loss = 0;
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < measured; ++i) {
    if (options.stop_signal != nullptr && options.stop_signal->load() != 0) return std::nullopt;
    const BatchSpans<std::int64_t> batch = batch_of(program, inputs, targets, positions);
    batches.fill(i * all / measured, tokens, batch);
    kept += std::count_if(batch.targets.begin(), batch.targets.end(), [](std::int64_t target) { return target != kIgnoredTarget; });
    program.run();
    loss += program.floating_output(0);
  }
  if (kept == 0) {
    throw UserError("the validation batches that are measured have no target to learn; measure more of them with --eval_batches, "
                    "or give other --val_data");
  }
  return loss / static_cast<double>(kept);
}

}  // namespace reprise
