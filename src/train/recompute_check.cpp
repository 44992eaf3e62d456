// SPDX-License-Identifier: Apache-2.0
#include "train/recompute_check.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/philox.h"
#include "executor/engine.h"
#include "nn/gpt_trace.h"

namespace reprise {
namespace {

/// The bytes of every output of a program.
using Outputs = std::vector<std::vector<std::byte>>;

struct CheckedTraces {
  TracedProgram forward;
  TrainingTraces training;
};

CheckedTraces trace_model(const GptProgramOptions& options, const CompileOptions& compile) {
  GptTraceOptions trace;
  trace.batch = options.micro_batch_size;
  trace.length = options.block_size;
  trace.dtype = options.dtype;
  CheckedTraces traces;
  traces.forward = trace_forward_loss(options.config, trace);
  TrainingRequest request;
  request.forward = traces.forward.trace;
  request.trainable = options.trainable;
  request.adamw = options.adamw;
  traces.training = trace_training(request, compile);
  traces.training.joint.trace.name = "joint";
  return traces;
}

/// Gives every input that is fresh each run a value; the same for the same name.
void set_inputs(Program& program, const GptProgramOptions& options, std::uint64_t seed) {
  const Trace& trace = program.trace();
  const auto vocabulary = static_cast<std::uint32_t>(std::min<std::int64_t>(options.config.vocab_size, 1 << 30));
  for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
    const TraceInput& input = trace.inputs[i];
    const std::string& name = trace[input.value].name;
    if (input.role == Role::param || input.role == Role::state) continue;
    switch (trace.type(input.value).dtype) {
      case DType::float32: program.set_scalar(i, name == "lr" ? 1e-3F : 1.0F / static_cast<float>(options.micro_batch_size * options.block_size)); break;
      case DType::float64: program.set_scalar(i, name == "lr" ? 1e-3 : 1.0 / static_cast<double>(options.micro_batch_size * options.block_size)); break;
      default: {
        const std::span<std::int64_t> values = program.input_as<std::int64_t>(i);
        const std::uint64_t stream = name == "tokens" ? 1 : 2;
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = input.role == Role::batch ? philox_word(seed, k, stream) % vocabulary : 4;
      }
    }
  }
}

Outputs run(const CheckedTraces& traces, const Trace& trace, const GptProgramOptions& options, const CompileOptions& compile, std::uint64_t seed) {
  EngineOptions engine_options;
  engine_options.threads = compile.threads;
  engine_options.target = compile.target;
  engine_options.executors = compile.executors;
  engine_options.what = "the check of the recompute policy";
  std::vector<CompiledTrace> programs;
  programs.push_back(compile_trace(trace, compile));
  Engine engine(std::move(programs), engine_options);
  for (const InitialState& table : traces.forward.state) {
    if (engine.find_slot(table.name) != nullptr) copy_bytes(engine.bytes(table.name), table.bytes);
  }
  for (const NamedParameter& parameter : traces.forward.parameters) {
    if (engine.find_slot(parameter.name) != nullptr) initialize(parameter, seed, options.dtype, engine.bytes(parameter.name));
  }
  Program& program = engine.program(trace.name);
  set_inputs(program, options, seed);
  program.run();
  Outputs outputs;
  for (std::size_t o = 0; o < trace.outputs.size(); ++o) {
    const std::span<const std::byte> bytes = program.output(o);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return outputs;
}

}  // namespace

std::optional<std::string> recompute_difference(const GptProgramOptions& options, const CompileOptions& compile, std::uint64_t seed) {
  CompileOptions with = compile;
  with.dump.clear();
  CompileOptions without = with;
  without.recompute = {};
  const CheckedTraces traces = trace_model(options, without);
  for (const Trace* const trace : {&traces.training.joint.trace, &traces.training.step.trace}) {
    const Outputs expected = run(traces, *trace, options, without, seed);
    const Outputs found = run(traces, *trace, options, with, seed);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      if (expected[o] == found[o]) continue;
      const bool gradient = trace == &traces.training.joint.trace && o >= trace->outputs.size() - traces.training.joint.wrt.size();
      const std::string name = (*trace)[trace->outputs[o]].name;
      if (!gradient) return name;
      const std::size_t w = o - (trace->outputs.size() - traces.training.joint.wrt.size());
      return "the gradient of " + (*trace)[traces.training.joint.wrt[w]].name;
    }
  }
  return std::nullopt;
}

}  // namespace reprise
