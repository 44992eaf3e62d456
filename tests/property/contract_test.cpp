// SPDX-License-Identifier: Apache-2.0
// The compiled loops compute what the interpreter computes, bit for bit: whole training steps of every family and dtype,
// on one and two threads. REPRISE_ISA chooses another instruction set.
#include <gtest/gtest.h>

#include <cstring>

#include "base/bytes.h"
#include "base/philox.h"
#include "executor/loops/executor.h"
#include "interpreter/interpreter.h"
#include "train/gpt_programs.h"

namespace reprise {
namespace {

struct ContractCase {
  std::string name;
  std::string model;
  DType dtype = DType::float32;
  double dropout = 0;
  bool master = false;
};

class Contract : public ::testing::TestWithParam<ContractCase> {};

GptProgramOptions options_of(const ContractCase& test) {
  GptProgramOptions options;
  options.config = named_config(test.model);
  options.config.set_dropout(test.dropout);
  options.dtype = test.dtype;
  options.block_size = 40;
  options.micro_batch_size = 2;
  options.adamw.max_norm = 1;
  options.adamw.master_weights = test.master;
  options.adamw.rounding = Rounding::stochastic;
  return options;
}

/// A value for every input of the step, by name where it matters.
HostTensor input_value(const Trace& trace, std::size_t index, const GptProgramOptions& options, const Engine& engine) {
  const Value& value = trace[trace.inputs[index].value];
  HostTensor tensor(value.type);
  const std::span<std::byte> bytes = tensor.bytes();
  const auto fill = [&](auto number) {
    for (std::size_t i = 0; i * sizeof(number) < bytes.size(); ++i) std::memcpy(bytes.data() + i * sizeof(number), &number, sizeof(number));
  };
  if (trace.inputs[index].role == Role::param || trace.inputs[index].role == Role::state) {
    const std::span<const std::byte> now = engine.bytes(value.name);
    std::copy(now.begin(), now.end(), bytes.begin());
  } else if (value.name == "tokens" || value.name == "targets") {
    for (std::size_t i = 0; i * 8 < bytes.size(); ++i) {
      const std::int64_t id = philox_word(value.name.size(), i) % static_cast<std::uint64_t>(options.config.vocab_size);
      std::memcpy(bytes.data() + i * 8, &id, 8);
    }
  } else if (value.type.dtype == DType::int64) {
    fill(std::int64_t{4});
  } else if (value.type.dtype == DType::float64) {
    fill(0.0125);
  } else {
    fill(0.0125F);
  }
  return tensor;
}

TEST_P(Contract, LoopsEqualTheInterpreter) {
  const GptProgramOptions options = options_of(GetParam());
  for (const int threads : {1, 2}) {
    const CompileOptions compile = host_options({&loops_executor()}, threads);
    const GptPrograms programs = compile_gpt(options, compile);
    Engine engine(programs.list(), engine_options(compile));
    initialize_weights(programs, 1, engine);
    load_tables(programs, engine);
    Program& step = engine.program("step");
    const Trace& trace = step.trace();

    std::vector<HostTensor> inputs;
    for (std::size_t i = 0; i < trace.inputs.size(); ++i) inputs.push_back(input_value(trace, i, options, engine));
    const std::vector<HostTensor> expected = interpret(trace, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) step.set_input(i, inputs[i].bytes());
    step.run();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::span<const std::byte> got = step.output(i);
      ASSERT_EQ(got.size(), expected[i].bytes().size());
      EXPECT_TRUE(equal_bytes(got, expected[i].bytes()))
          << "output " << trace[trace.outputs[i]].name << ", " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, Contract,
                         ::testing::Values(ContractCase{.name = "gpt", .model = "toy-gpt"},
                                           ContractCase{.name = "neox", .model = "toy-neox"},
                                           ContractCase{.name = "llama", .model = "toy-llama"},
                                           ContractCase{.name = "dropout", .model = "toy-gpt", .dropout = 0.2},
                                           ContractCase{.name = "float64", .model = "toy-llama", .dtype = DType::float64},
                                           ContractCase{.name = "bfloat16", .model = "toy-gpt", .dtype = DType::bfloat16},
                                           ContractCase{.name = "bfloat16_llama", .model = "toy-llama", .dtype = DType::bfloat16},
                                           ContractCase{.name = "masters", .model = "toy-neox", .dtype = DType::bfloat16, .master = true}),
                         [](const ::testing::TestParamInfo<ContractCase>& tested) { return tested.param.name; });

}  // namespace
}  // namespace reprise
