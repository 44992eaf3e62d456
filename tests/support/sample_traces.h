// SPDX-License-Identifier: Apache-2.0
// Traces made by hand or at random, their inputs, and engines that run them, for the tests of memory and execution.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "executor/claim_trace.h"
#include "executor/engine.h"
#include "executor/reference_executor.h"
#include "interpreter/interpreter.h"
#include "memory/memory_plan.h"
#include "memory/schedule.h"
#include "ops/builders.h"

namespace reprise::test {

inline TensorType f32(Shape shape) { return {DType::float32, std::move(shape), Device::cpu}; }

/// Schedules and plans with every validator on.
inline CompiledTrace planned(const ClaimedTrace& claimed) {
  const std::vector<std::uint32_t> order = schedule(claimed);
  validate_schedule(claimed, order);
  CompiledTrace compiled;
  compiled.name = claimed.trace.name;
  compiled.claimed = apply_schedule(claimed, order);
  compiled.plan = plan_memory(compiled.claimed);
  validate_memory_plan(compiled.claimed, compiled.plan);
  return compiled;
}

/// Claims before that.
inline CompiledTrace compile(const Trace& trace, const ExecutorList& executors = {&reference_executor()}) {
  return planned(claim_trace(trace, executors, Target{}, 1));
}

inline EngineOptions engine_options(ExecutorList executors = {&reference_executor()}) {
  EngineOptions options;
  options.executors = std::move(executors);
  return options;
}

/// Numbers in [-1, 1] for every input; integers in [0, 3].
inline std::vector<HostTensor> random_inputs(const Trace& trace, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<HostTensor> inputs;
  for (const TraceInput& input : trace.inputs) {
    const TensorType& type = trace.type(input.value);
    std::vector<double> numbers(static_cast<std::size_t>(type.shape.numel()));
    for (double& x : numbers) {
      x = is_floating(type.dtype) ? static_cast<double>(random() % 2001) / 1000.0 - 1.0 : static_cast<double>(random() % 4);
    }
    inputs.push_back(HostTensor::from_numbers(type, numbers));
  }
  return inputs;
}

inline void set_inputs(Program& program, const std::vector<HostTensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) program.set_input(i, inputs[i].bytes());
}

/// The same where parameters and states are among the inputs.
inline void set_all(Engine& engine, Program& program, const std::vector<HostTensor>& inputs) {
  const Trace& trace = program.trace();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TraceInput& input = trace.inputs[i];
    if (input.role != Role::param && input.role != Role::state) {
      program.set_input(i, inputs[i].bytes());
    } else {
      copy_bytes(engine.bytes(trace[input.value].name), inputs[i].bytes());
    }
  }
}

/// A random program of pointwise ops and views on values of 24 elements, with parameters that are updated by donation:
/// from what was computed, from each other, or not at all.
inline Trace random_trace(std::uint32_t seed) {
  std::mt19937 random(seed);
  Trace trace;
  trace.name = "random";
  Builder b(trace);
  const std::vector<Shape> shapes = {Shape{24}, Shape{2, 12}, Shape{4, 6}, Shape{2, 3, 4}};
  const std::size_t params = 1 + random() % 4;
  std::vector<ValueId> pool;
  for (std::size_t i = 0; i < params; ++i) pool.push_back(trace.add_input(f32(Shape{4, 6}), i % 2 == 0 ? Role::param : Role::state, "p"));
  pool.push_back(trace.add_input(f32(Shape{2, 12}), Role::batch, "x"));
  const auto pick = [&] { return pool[random() % pool.size()]; };
  const auto as = [&](ValueId v, const Shape& shape) { return trace.type(v).shape == shape ? v : ops::reshape(b, v, shape); };
  const std::size_t count = 4 + random() % 30;
  for (std::size_t i = 0; i < count; ++i) {
    const ValueId x = pick();
    b.context.phase = i < count / 2 ? Phase::forward : Phase::backward;
    switch (random() % 9) {
      case 0: pool.push_back(ops::tanh(b, x)); break;
      case 1: pool.push_back(ops::neg(b, x)); break;
      case 2: pool.push_back(ops::add(b, x, as(pick(), trace.type(x).shape))); break;
      case 3: pool.push_back(ops::mul(b, x, as(pick(), trace.type(x).shape))); break;
      case 4: pool.push_back(as(x, shapes[random() % shapes.size()])); break;
      case 5: pool.push_back(ops::add_scalar(b, x, 0.5)); break;
      case 6: pool.push_back(ops::permute(b, as(x, Shape{4, 6}), {1, 0})); break;
      case 7: pool.push_back(ops::mul(b, ops::full(b, trace.type(x).shape, DType::float32, 0.25), x)); break;
      default: pool.push_back(ops::sub(b, x, as(pick(), trace.type(x).shape))); break;
    }
  }
  b.context.phase = Phase::update;
  for (std::uint32_t i = 0; i < params; ++i) {
    ValueId output = as(pick(), Shape{4, 6});
    switch (random() % 4) {
      case 0: output = ops::sub(b, trace.inputs[i].value, output); break;
      case 1: output = trace.inputs[random() % params].value; break;
      default: break;
    }
    trace.donations.push_back({i, static_cast<std::uint32_t>(trace.outputs.size())});
    trace.outputs.push_back(output);
  }
  trace.outputs.push_back(pick());
  trace.outputs.push_back(pick());
  return trace;
}

}  // namespace reprise::test
