// SPDX-License-Identifier: Apache-2.0
// Whole training steps of GPT configurations of every structure: the predicted peak is the highest byte written, no node falls back to
// "reference", a step allocates nothing, and threads change no bit.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/philox.h"
#include "base/thread_pool.h"
#include "compiler/compile.h"
#include "executor/engine.h"
#include "executor/executor_list.h"
#include "nn/gpt_trace.h"
#include "support/sample_traces.h"
#include "support/storage_on_top.h"
#include "support/structure_configs.h"
#include "unit/engine/allocation_count.h"

namespace reprise {
namespace {

struct Case {
  std::string name;
  GptConfig config;
  std::int64_t batch = 2;
  std::int64_t length = 24;
  double max_norm = 1;
  bool accumulate = false;
  DType dtype = DType::float32;
  bool master = false;
};

GptConfig small(const std::string& name) {
  GptConfig config;
  config.name = name;
  config.block_size = 32;
  config.vocab_size = 61;
  config.padded_vocab_size = 64;
  config.n_layer = 2;
  config.n_head = 4;
  config.n_query_groups = 4;
  config.n_embd = 32;
  config.head_size = 8;
  config.intermediate_size = 96;
  return config;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, auto&& change) {
    Case one{name, small(name)};
    change(one);
    all.push_back(one);
  };
  add("neox", [](Case& c) { c.config.parallel_residual = true, c.config.rotary_percentage = 0.25; });
  add("neox_no_clipping", [](Case& c) { c.max_norm = 0; });
  add("gpt2_tied", [](Case& c) {
    c.config.positions = Positions::learned, c.config.weight_names = WeightNames::gpt2, c.config.tied = true, c.config.gelu_tanh = true;
  });
  add("gpt2_dropout", [](Case& c) { c.config.positions = Positions::learned, c.config.set_dropout(0.1); });
  const auto llama = [](Case& c) {
    c.config.norm_class = NormClass::rms_norm, c.config.mlp_class = MlpClass::llama, c.config.bias = false;
  };
  add("llama", llama);
  add("llama_grouped", [&](Case& c) { llama(c), c.config.n_query_groups = 2; });
  add("llama_accumulate", [&](Case& c) { llama(c), c.accumulate = true; });
  add("one_token", [](Case& c) { c.batch = 1, c.length = 1; });
  add("bfloat16", [](Case& c) { c.dtype = DType::bfloat16; });
  add("bfloat16_master", [&](Case& c) { llama(c), c.dtype = DType::bfloat16, c.master = true; });
  for (GptConfig config : test::structure_configs()) {
    config.padded_vocab_size = 80;
    Case one{config.name, config};
    all.push_back(one);
    one.name += "_bfloat16";
    one.dtype = DType::bfloat16;
    all.push_back(one);
  }
  return all;
}

class GptEngine {
 public:
  GptEngine(const Case& one, std::string_view executors, int threads) : one_(one) {
    GptTraceOptions trace_options;
    trace_options.batch = one.batch;
    trace_options.length = one.length;
    trace_options.dtype = one.dtype;
    TracedProgram traced = trace_forward_loss(one.config, trace_options);
    states_ = std::move(traced.state);
    const CompileOptions options = host_options(make_executor_list(executors), threads);
    TrainingRequest request;
    request.forward = std::move(traced.trace);
    request.adamw.max_norm = one.max_norm;
    request.adamw.master_weights = one.master;
    request.accumulate = one.accumulate;
    CompiledTraining compiled = compile_training(request, options);
    std::vector<CompiledTrace> programs;
    programs.push_back(std::move(compiled.step));
    if (compiled.accumulate) programs.push_back(std::move(*compiled.accumulate));
    engine_ = std::make_unique<Engine>(std::move(programs), engine_options(options));
  }

  Engine& engine() { return *engine_; }

  /// Draws parameters, clears moments, writes tables.
  void initialize() {
    std::uint64_t stream = 0;
    for (const Slot& slot : engine_->slots()) {
      ++stream;
      const std::span<std::byte> bytes = engine_->bytes(slot.name);
      std::memset(bytes.data(), 0, bytes.size());
      const bool moment = slot.name.ends_with(".m") || slot.name.ends_with(".v") || slot.name.ends_with(".acc");
      if (moment || !is_floating(slot.type.dtype)) continue;
      for (std::size_t i = 0; i < static_cast<std::size_t>(slot.type.shape.numel()); ++i) {
        const float x = 0.2F * (static_cast<float>(uniform_double(philox_word(1, i, stream))) - 0.5F);
        if (slot.type.dtype == DType::float32) engine_->values<float>(slot.name)[i] = x;
        if (slot.type.dtype == DType::bfloat16) engine_->values<bfloat16>(slot.name)[i] = to_bfloat16(x);
      }
    }
    for (const InitialState& state : states_) copy_bytes(engine_->bytes(state.name), state.bytes);
  }

  void feed(Program& program, std::int64_t step) {
    const Trace& trace = program.trace();
    for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
      const TraceInput& input = trace.inputs[i];
      const std::string& name = trace[input.value].name;
      if (input.role == Role::batch) {
        for (std::int64_t& token : program.input_as<std::int64_t>(i)) token = (token_ = (token_ * 37 + 11) % 61);
      } else if (input.role == Role::rng) {
        program.set_scalar<std::int64_t>(i, name == "rng.seed" ? 5 : 4096 * step);
      } else if (name == "step") {
        program.set_scalar<std::int64_t>(i, step);
      } else if (input.role == Role::scalar) {
        program.set_scalar<float>(i, name == "lr" ? 0.001F : 1.0F / static_cast<float>(one_.batch * one_.length));
      }
    }
  }

  /// Runs accumulate (if there is one) and step.
  float run(std::int64_t step) {
    if (engine_->has_program("accumulate")) {
      feed(engine_->program("accumulate"), step);
      engine_->program("accumulate").run();
    }
    feed(engine_->program("step"), step);
    engine_->program("step").run();
    return engine_->program("step").output_as<float>(0)[0];
  }

  /// All that is kept between steps, byte for byte.
  std::vector<std::byte> persistent() const {
    std::vector<std::byte> all;
    for (const Slot& slot : engine_->slots()) {
      const std::span<const std::byte> bytes = std::as_const(*engine_).bytes(slot.name);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

 private:
  Case one_;
  std::vector<InitialState> states_;
  std::unique_ptr<Engine> engine_;
  std::int64_t token_ = 1;
};

class GptMemory : public ::testing::TestWithParam<Case> {};

TEST_P(GptMemory, PredictedPeakIsTheHighestByteWritten) {
  for (const char* const executors : {"onednn,loops", "loops"}) {
    std::int64_t measured = 0;
    std::int64_t predicted = 0;
    bool storage_on_top = false;
    for (const std::byte pattern : {std::byte{0xA5}, std::byte{0x5A}}) {
      GptEngine gpt(GetParam(), executors, 2);
      Engine& engine = gpt.engine();
      predicted = engine.layout().arena_bytes;
      engine.arena().fill(pattern);
      gpt.initialize();
      const float loss = gpt.run(1);
      EXPECT_GT(loss, 1.0F);
      EXPECT_LT(loss, 10.0F);
      EXPECT_EQ(engine.addressed_bytes(), predicted);
      measured = std::max(measured, engine.arena().high_water(pattern));
      std::vector<std::string> programs = {"step"};
      if (engine.has_program("accumulate")) programs.push_back("accumulate");
      storage_on_top = test::storage_on_top(engine, programs);
    }
    EXPECT_LE(measured, predicted) << executors;
    if (storage_on_top) {
      EXPECT_EQ(measured, predicted) << executors;
    }
  }
}

TEST_P(GptMemory, AStepAllocatesNothing) {
  GptEngine gpt(GetParam(), "loops", 2);
  gpt.initialize();
  gpt.run(1);
  const long before = test::allocation_count();
  gpt.run(2);
  EXPECT_EQ(test::allocation_count(), before);
}

TEST_P(GptMemory, ThreadsAndUninitialisedBytesChangeNoBit) {
  for (const char* const executors : {"onednn,loops", "loops"}) {
    std::vector<std::vector<std::byte>> results;
    for (const int threads : {1, 2}) {
      GptEngine gpt(GetParam(), executors, threads);
      gpt.engine().arena().fill(threads == 1 ? std::byte{0xFF} : std::byte{0x00});
      gpt.initialize();
      for (std::int64_t step = 1; step <= 3; ++step) gpt.run(step);
      results.push_back(gpt.persistent());
    }
    EXPECT_TRUE(results[0] == results[1]) << executors;
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, GptMemory, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& one) { return one.param.name; });

}  // namespace
}  // namespace reprise
