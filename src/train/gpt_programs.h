// SPDX-License-Identifier: Apache-2.0
// The programs of a GPT run: step and accumulate, eval, prefill and decode, for one engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "executor/engine.h"
#include "nn/gpt_config.h"
#include "nn/tracer.h"
#include "train/checkpoint.h"

namespace reprise {

struct GptProgramOptions {
  GptConfig config;
  DType dtype = DType::float32;
  std::int64_t block_size = 0;         // tokens of a training sequence
  std::int64_t micro_batch_size = 1;
  std::int64_t micro_steps = 1;
  std::string trainable = "*";
  AdamWOptions adamw;
  bool packed = false;                 // rows of step, accumulate and eval hold several documents (nn/gpt_trace.h)
  bool token_losses = false;           // eval gives the loss of each target too
  bool train = true;                   // step, and accumulate with several micro-steps
  bool evaluate = false;               // eval, in batches of micro_batch_size
  bool generate = false;               // prefill and decode
  std::int64_t prefill_length = 0;     // longest prompt
  std::int64_t cache_length = 0;       // tokens a generation can look back on
};

struct GptPrograms {
  std::optional<CompiledTraining> training;
  std::optional<CompiledTrace> eval;
  std::optional<CompiledTrace> prefill;
  std::optional<CompiledTrace> decode;
  std::vector<NamedParameter> parameters;  // all of the model's
  std::vector<InitialState> tables;        // states that start with bytes
  DType dtype = DType::float32;

  /// All programs, for the engine.
  std::vector<CompiledTrace> list() const;
};

/// What is trained, before it is differentiated.
struct GptTraining {
  std::vector<NamedParameter> parameters;
  std::vector<InitialState> tables;
  TrainingRequest request;
};
/// The step, and accumulate with several micro-steps, as compile_gpt compiles them.
GptTraining trace_gpt_training(const GptProgramOptions& options);

/// Traces and compiles. UserError for sizes that do not fit the model.
GptPrograms compile_gpt(const GptProgramOptions& options, const CompileOptions& compile);

/// Bytes that an engine of these programs takes at least: for parameters and, when all are trained, the optimizer's states. Nothing
/// is traced for it.
std::int64_t least_bytes(const GptProgramOptions& options);
/// Whether an engine of these programs fits into `available` bytes. They are compiled only where the least bytes fit.
bool programs_fit(const GptProgramOptions& options, CompileOptions compile, std::uint64_t available);

/// Writes the rotary tables into the engine.
void load_tables(const GptPrograms& programs, Engine& engine);
/// Fresh weights from `seed`, and zero moments. Masters are the weights.
void initialize_weights(const GptPrograms& programs, std::uint64_t seed, Engine& engine);
/// Zero moments, and masters that are the weights: after weights were loaded.
void reset_optimizer(const GptPrograms& programs, Engine& engine);
/// Makes the masters (float32) of these parameters equal to them.
void reset_masters(std::span<const StepParameter> parameters, Engine& engine);

/// The engine's memory of the model's parameters, in the model's order.
std::vector<TensorSlot> parameter_slots(const GptPrograms& programs, Engine& engine);
/// Of the optimizer's states: moments and masters of the trained parameters.
std::vector<TensorSlot> optimizer_slots(const GptPrograms& programs, Engine& engine);

}  // namespace reprise
