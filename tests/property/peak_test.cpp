// SPDX-License-Identifier: Apache-2.0
// Predicted peak = measured peak by address, and no allocation while a program runs, for all programs
// of a training run: dropout, accumulation, frozen parameters, masters, evaluation and generation beside.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "executor/loops/executor.h"
#include "executor/onednn/executor.h"
#include "support/storage_on_top.h"
#include "support/structure_configs.h"
#include "train/gpt_programs.h"
#include "unit/engine/allocation_count.h"

namespace reprise {
namespace {

struct PeakCase {
  std::string name;
  std::string model;
  DType dtype = DType::float32;
  std::int64_t batch = 2;
  std::int64_t micro_steps = 1;
  double max_norm = 1;
  double dropout = 0;
  bool master = false;
  bool onednn = true;
  bool beside = false;  // eval, prefill and decode too
  std::string trainable = "*";
  std::optional<GptConfig> config = {};  // instead of the model's
};

std::vector<PeakCase> cases() {
  std::vector<PeakCase> all = {
      {.name = "dropout", .model = "toy-gpt", .dropout = 0.1},
      {.name = "loops_alone", .model = "toy-neox", .max_norm = 0, .onednn = false},
      {.name = "bfloat16_with_masters_and_accumulation", .model = "toy-llama", .dtype = DType::bfloat16, .micro_steps = 2, .master = true},
      {.name = "everything_beside", .model = "toy-gpt", .beside = true, .trainable = "*.attn.*"},
      {.name = "generation_of_a_llama", .model = "toy-llama", .beside = true},
  };
  for (const GptConfig& config : test::structure_configs()) {
    all.push_back({.name = "generation_with_" + config.name, .model = config.name, .beside = true, .config = config});
  }
  return all;
}

class Peak : public ::testing::TestWithParam<PeakCase> {};

GptProgramOptions options_of(const PeakCase& test) {
  GptProgramOptions options;
  options.config = test.config ? *test.config : named_config(test.model);
  options.config.set_dropout(test.dropout);
  options.dtype = test.dtype;
  options.block_size = std::min<std::int64_t>(options.config.block_size, 48);
  options.micro_batch_size = test.batch;
  options.micro_steps = test.micro_steps;
  options.trainable = test.trainable;
  options.adamw.max_norm = test.max_norm;
  options.adamw.master_weights = test.master;
  options.adamw.rounding = Rounding::stochastic;
  options.evaluate = options.generate = test.beside;
  options.prefill_length = 16;
  options.cache_length = options.block_size;
  return options;
}

/// Gives every input of a program that is fresh each run a value in range.
void set_inputs(Program& program) {
  const Trace& trace = program.trace();
  for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
    if (trace.inputs[i].role == Role::param || trace.inputs[i].role == Role::state) continue;
    const TensorType& type = trace.type(trace.inputs[i].value);
    const std::span<std::byte> bytes = program.input(i);
    std::fill(bytes.begin(), bytes.end(), std::byte{});
    if (type.dtype == DType::float32) program.set_scalar(i, 0.01F);
    if (type.dtype == DType::float64) program.set_scalar(i, 0.01);
    if (type.dtype == DType::int64) program.input_as<std::int64_t>(i)[0] = 4;
  }
}

TEST_P(Peak, PredictedIsMeasuredAndNothingIsAllocated) {
  const PeakCase& test = GetParam();
  ExecutorList executors = {&loops_executor()};
  if (test.onednn) executors.insert(executors.begin(), &onednn_executor());
  const CompileOptions compile = host_options(executors, 2);
  const GptPrograms programs = compile_gpt(options_of(test), compile);

  std::int64_t measured = 0;
  std::int64_t arena = 0;
  bool storage_on_top = false;
  // A byte that happens to equal one pattern differs from the other.
  for (const std::byte pattern : {std::byte{0xA5}, std::byte{0x5A}}) {
    Engine engine(programs.list(), engine_options(compile));
    arena = engine.layout().arena_bytes;
    EXPECT_EQ(engine.predicted_peak_bytes(), arena + engine.layout().library_bytes);
    EXPECT_EQ(engine.addressed_bytes(), arena);
    engine.arena().fill(pattern);
    initialize_weights(programs, 1, engine);
    load_tables(programs, engine);
    for (const CompiledTrace& compiled : programs.list()) {
      Program& program = engine.program(compiled.name);
      EXPECT_EQ(program.reference_nodes(), 0U) << compiled.name;
      set_inputs(program);
      program.run();  // libraries set themselves up in the first run
      set_inputs(program);
      const long before = test::allocation_count();
      program.run();
      EXPECT_EQ(test::allocation_count(), before) << compiled.name;
    }
    measured = std::max(measured, engine.arena().high_water(pattern));
    std::vector<std::string> names;
    for (const CompiledTrace& compiled : programs.list()) names.push_back(compiled.name);
    storage_on_top = test::storage_on_top(engine, names);
  }
  EXPECT_LE(measured, arena);
  if (storage_on_top) {
    EXPECT_EQ(measured, arena);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Peak, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<PeakCase>& tested) { return tested.param.name; });

}  // namespace
}  // namespace reprise
