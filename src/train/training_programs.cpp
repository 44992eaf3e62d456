// SPDX-License-Identifier: Apache-2.0
#include "train/training_programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/target.h"
#include "runtime/arena.h"
#include "train/recompute_check.h"
#include "train/trainer.h"

namespace reprise {
namespace {

GptProgramOptions program_options(const TrainerOptions& options, bool evaluate) {
  GptProgramOptions programs;
  programs.config = options.config;
  programs.dtype = options.dtype;
  programs.block_size = options.block_size;
  programs.micro_batch_size = options.micro_batch_size;
  programs.micro_steps = options.micro_steps;
  programs.packed = options.pack_documents;
  programs.trainable = options.trainable;
  programs.adamw = options.adamw;
  programs.adamw.log_norm = true;
  programs.evaluate = evaluate && options.eval_interval > 0;
  programs.generate = options.sample_interval > 0;
  programs.prefill_length = prefill_length(options);
  programs.cache_length = options.block_size;
  return programs;
}

/// Options of a smaller run that fits into `available` bytes: fewer rows at once, shorter ones, then fewer layers where the weights
/// are fresh; empty when none does.
std::string smaller_run(TrainerOptions options, bool evaluate, std::uint64_t available) {
  constexpr std::int64_t kLeastBlock = 16;
  const std::int64_t rows = options.micro_batch_size * options.micro_steps;
  const std::int64_t layers = options.config.n_layer;
  const auto halve = [](std::int64_t& size, std::int64_t least) {
    if (size / 2 < least) return false;
    size /= 2;
    return true;
  };
  const auto shrink = [&] {
    // Where parameters and moments alone are too much, shorter rows would not help.
    const bool too_deep = static_cast<std::uint64_t>(least_bytes(program_options(options, evaluate))) > available;
    if (!too_deep && (halve(options.micro_batch_size, 1) || halve(options.block_size, kLeastBlock))) return true;
    return !options.init_from && halve(options.config.n_layer, 1);
  };
  while (shrink()) {
    options.micro_steps = (rows + options.micro_batch_size - 1) / options.micro_batch_size;
    options.config.block_size = options.block_size;
    if (!programs_fit(program_options(options, evaluate), options.compile, available)) continue;
    const std::string depth = options.config.n_layer < layers ? fmt::format(" --n_layers {}", options.config.n_layer) : "";
    return fmt::format("the same command with --micro_batch_size {} --global_batch_size {} --block_size {}{}", options.micro_batch_size,
                       options.micro_batch_size * options.micro_steps, options.block_size, depth);
  }
  return "";
}

}  // namespace

std::int64_t prefill_length(const TrainerOptions& options) { return std::max<std::int64_t>(1, options.block_size / 2); }

GptPrograms compile_training_run(const TrainerOptions& options, bool evaluate, bool resumed) {
  const GptProgramOptions programs = program_options(options, evaluate);
  const std::uint64_t available = available_memory_bytes();
  const auto suggestion = [&] { return resumed ? std::string() : smaller_run(options, evaluate, available); };
  try {
    const std::int64_t least = least_bytes(programs);
    if (static_cast<std::uint64_t>(least) > available) {
      require_memory(least, available, "training (parameters and moments alone)", suggestion());
    }
    return compile_gpt(programs, options.compile);
  } catch (const SizeError& error) {
    const std::string smaller = suggestion();
    throw UserError(error.what() + (smaller.empty() ? "" : "; this fits: " + smaller));
  }
}

EngineOptions training_engine_options(const TrainerOptions& options, const GptPrograms& programs, bool resumed) {
  EngineOptions engine = engine_options(options.compile, "training");
  const std::uint64_t available = available_memory_bytes();
  engine.available_bytes = available;
  if (static_cast<std::uint64_t>(lay_out_engine(programs.list()).peak_bytes()) > available && !resumed) {
    engine.suggestion = smaller_run(options, programs.eval.has_value(), available);
  }
  return engine;
}

std::optional<std::string> training_recompute_difference(const TrainerOptions& options) {
  return recompute_difference(program_options(options, false), options.compile, options.seed);
}

}  // namespace reprise
