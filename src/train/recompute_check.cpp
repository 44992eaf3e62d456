// SPDX-License-Identifier: Apache-2.0
#include "train/recompute_check.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/philox.h"
#include "executor/engine.h"

namespace reprise {
namespace {

/// Gives every input that is fresh each run a value; the same for the same name.
void set_inputs(Program& program, const GptProgramOptions& options, std::uint64_t seed) {
  const Trace& trace = program.trace();
  const double per_token = 1.0 / static_cast<double>(options.micro_batch_size * options.block_size);
  const auto row = static_cast<std::size_t>(options.block_size);
  const auto vocabulary = static_cast<std::uint32_t>(std::min<std::int64_t>(options.config.vocab_size, 1 << 30));
  for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
    const TraceInput& input = trace.inputs[i];
    const std::string& name = trace[input.value].name;
    if (input.role == Role::param || input.role == Role::state) continue;
    switch (trace.type(input.value).dtype) {
      case DType::float32: program.set_scalar(i, name == "lr" ? 1e-3F : static_cast<float>(per_token)); break;
      case DType::float64: program.set_scalar(i, name == "lr" ? 1e-3 : per_token); break;
      default: {
        const std::span<std::int64_t> values = program.input_as<std::int64_t>(i);
        const std::uint64_t stream = name == "tokens" ? 1 : 2;
        if (name == "positions") {  // two documents a row
          for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<std::int64_t>(k % row % ((row + 1) / 2));
          continue;
        }
        for (std::size_t k = 0; k < values.size(); ++k) {
          values[k] = input.role == Role::batch ? philox_word(seed, k, stream) % vocabulary : 4;
        }
      }
    }
  }
}

}  // namespace

RecomputeCheck::RecomputeCheck(const GptProgramOptions& options, const CompileOptions& compile, std::uint64_t seed, Compared compared)
    : options_(options), compile_(compile), seed_(seed) {
  compile_.dump.clear();
  compile_.recompute = {};
  model_ = trace_gpt_training(options);
  TrainingTraces training = trace_training(model_.request, compile_);
  if (compared != Compared::gradients) {
    trace_ = compared == Compared::step ? std::move(training.step.trace) : std::move(training.accumulate.value());
    for (const ValueId output : trace_.outputs) outputs_.push_back(trace_[output].name);
  } else {
    trace_ = std::move(training.joint.trace);
    trace_.name = "joint";
    const std::size_t others = trace_.outputs.size() - training.joint.wrt.size();
    for (std::size_t o = 0; o < others; ++o) outputs_.push_back(trace_[trace_.outputs[o]].name);
    for (const ValueId wrt : training.joint.wrt) outputs_.push_back("the gradient of " + trace_[wrt].name);
  }
  expected_ = run({});
}

RecomputeCheck::Outputs RecomputeCheck::run(const RecomputeOptions& recompute) const {
  CompileOptions compile = compile_;
  compile.recompute = recompute;
  std::vector<CompiledTrace> programs;
  programs.push_back(compile_trace(trace_, compile));
  Engine engine(std::move(programs), engine_options(compile, "the check of the recompute policy"));
  for (const InitialState& table : model_.tables) {
    if (engine.find_slot(table.name) != nullptr) copy_bytes(engine.bytes(table.name), table.bytes);
  }
  for (const NamedParameter& parameter : model_.parameters) {
    if (engine.find_slot(parameter.name) != nullptr) initialize(parameter, seed_, options_.dtype, engine.bytes(parameter.name));
  }
  Program& program = engine.program(trace_.name);
  set_inputs(program, options_, seed_);
  program.run();
  Outputs outputs;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    const std::span<const std::byte> bytes = program.output(o);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return outputs;
}

std::optional<std::string> RecomputeCheck::difference(const RecomputeOptions& recompute) const {
  const Outputs found = run(recompute);
  for (std::size_t o = 0; o < expected_.size(); ++o) {
    if (expected_[o] != found[o]) return outputs_[o];
  }
  return std::nullopt;
}

std::optional<std::string> recompute_difference(const GptProgramOptions& options, const CompileOptions& compile, std::uint64_t seed) {
  using Compared = RecomputeCheck::Compared;
  std::vector<Compared> programs = {Compared::step};
  if (options.micro_steps > 1) programs.push_back(Compared::accumulate);
  // A plan from a file is for the programs of a run, and no program of a run ends with the gradients: they are in the moments.
  if (compile.recompute.policy.kind != PolicySpec::Kind::file) programs.insert(programs.begin(), Compared::gradients);
  for (const Compared compared : programs) {
    if (std::optional<std::string> name = RecomputeCheck(options, compile, seed, compared).difference(compile.recompute)) return name;
  }
  return std::nullopt;
}

}  // namespace reprise
