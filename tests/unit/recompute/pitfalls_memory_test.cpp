// SPDX-License-Identifier: Apache-2.0
// Situations in which other systems were found to take too much memory, each with what must hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "compiler/compile.h"
#include "ops/eval_context.h"
#include "ops/row_parts.h"
#include "support/recompute_models.h"
#include "support/sample_traces.h"
#include "unit/engine/allocation_count.h"

namespace reprise::test {
namespace {

struct Layer : Module {
  explicit Layer(std::int64_t width) {
    linear = add_module("linear", Linear(width, width, true, kSmall));
    norm = add_module("norm", LayerNorm(width, 1e-5, true, true));
  }
  Tensor operator()(const Tensor& x) const { return norm(linear(x)).gelu(); }
  Linear linear;
  LayerNorm norm;
};

/// A model of `layers` blocks of a linear, a norm and a GELU, traversed `rounds` times, each a region.
std::function<void(Tracer&)> stack(int layers, int rounds, std::int64_t width = 64, std::int64_t rows = 32) {
  return [=](Tracer& tracer) {
    std::vector<Layer> all;
    for (int i = 0; i < layers; ++i) all.emplace_back(width);
    Tensor x = batch_input(tracer, {rows, width});
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < layers; ++i) {
        const Tracer::Scope module = tracer.module(std::to_string(i));
        x = checkpoint(tracer, "layer" + std::to_string(i), [&] { return all[static_cast<std::size_t>(i)](x); });
      }
    }
    tracer.output(x.square().sum());
  };
}

/// Transient bytes of the stack with its regions at work.
std::int64_t stack_bytes(int layers, int rounds) {
  return transient_bytes(recompute(joint_of(stack(layers, rounds)), "tags", false).applied);
}

constexpr std::int64_t kActivation = 32 * 64 * 4;
constexpr std::int64_t kLayerGradients = (64 * 64 + 3 * 64) * 4;
constexpr std::int64_t kRoom = 4096;  // for alignment

/// Transient bytes of the whole pipeline's program.
std::int64_t compiled_bytes(const Trace& joint, const char* policy, bool as_traced) {
  CompileOptions options;
  options.executors = reference_only();
  options.recompute.policy = parse_policy(policy);
  options.as_traced = as_traced;
  return compile_trace(joint, options).plan.transient_bytes;
}

TEST(PitfallsOfMemory, FiveRegionsOfLinearNormAndGeluTakeNoMoreThanNodeByNode) {
  const Trace joint = joint_trace_of(stack(5, 1, 2048, 8192));
  const std::int64_t compiled = compiled_bytes(joint, "tags", false);
  EXPECT_LE(compiled, compiled_bytes(joint, "tags", true));
  EXPECT_LT(compiled, compiled_bytes(joint, "none", false));
}

TEST(PitfallsOfMemory, BlocksTraversedTwiceNeedAFirstInputEachAndOneBlockAtATime) {
  EXPECT_LE(stack_bytes(12, 2), stack_bytes(1, 1) + 23 * kActivation + 11 * kLayerGradients + kRoom);
}

TEST(PitfallsOfMemory, OfALongStackOneLayerIsComputedAgainAtATime) {
  EXPECT_LE(stack_bytes(32, 1), stack_bytes(1, 1) + 31 * kActivation + 31 * kLayerGradients + kRoom);
}

// ---- a region that ends in an op of the user's ---------------------------------------------------------------------

/// x -> (x^2, 2 x); the second output is what backward needs.
Opcode keeping_square() {
  static const Opcode opcode = [] {
    OpRow row;
    row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0], inputs[0]}; };
    row.evaluate = [](EvalContext& context) {
      const std::vector<float> x = context.load<float>(0);
      std::vector<float> y(x.size());
      std::vector<float> slope(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i], slope[i] = 2 * x[i];
      context.store<float>(0, y);
      context.store<float>(1, slope);
    };
    row.vjp = [](VjpContext& c) { return std::vector{ops::mul(c.b, c.gy(), c.out(1))}; };
    using Types = std::span<const TensorType>;
    row.cost = [](const Node&, Types inputs, Types outputs) { return streaming_cost(inputs, outputs, 2); };
    return register_op("keeping_square", std::move(row));
  }();
  return opcode;
}

TEST(PitfallsOfMemory, ARegionThatEndsInAnOpThatKeepsItsOutputsTakesTheSameMemoryInAThousandSteps) {
  keeping_square();
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear linear(16, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    tracer.output(checkpoint(tracer, "block", [&] { return custom_op("keeping_square", {linear(x).silu()})[0]; }).sum());
  }), "tags");
  EXPECT_EQ(result.count(keeping_square(), Phase::recompute), 1);
  EXPECT_EQ(result.saved_bytes(), 0) << "the region's input, which is the step's, is all that it keeps";

  std::vector<CompiledTrace> programs;
  programs.push_back(planned(result.applied));
  Engine engine(std::move(programs), engine_options(reference_only()));
  Program& program = engine.program("step");
  const std::vector<HostTensor> inputs = reprise::random_inputs(result.applied.trace, 7);
  std::vector<std::byte> first;
  long live = 0;
  for (int step = 0; step < 1000; ++step) {
    set_all(engine, program, inputs);
    program.run();
    const std::span<const std::byte> gradient = program.output(1);
    if (step == 0) {
      first.assign(gradient.begin(), gradient.end());
      live = live_allocation_count();
    }
    ASSERT_TRUE(equal_bytes(gradient, first)) << "step " << step;
  }
  EXPECT_EQ(live_allocation_count(), live);
  EXPECT_EQ(engine.addressed_bytes(), engine.predicted_peak_bytes());
}

// ---- one block, two token counts -----------------------------------------------------------------------------------

TEST(PitfallsOfMemory, ABlockAtTwoTokenCountsInOneStepComputesEachAgainAtItsOwn) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear first(16, 32, true, kSmall);
    const Linear second(32, 16, true, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    const auto block = [&](const Tensor& in) {
      return checkpoint(tracer, "block", [&] { return second(first(in).gelu()); }).square().sum();
    };
    const Tensor whole = block(x);
    tracer.output(whole + block(x.slice(0, 0, 3)));
  }), "tags");  // compares the bits
  std::vector<std::int64_t> rows;
  for (const Node& node : result.applied.trace.nodes) {
    if (node.phase == Phase::recompute && node.opcode == op::linear) rows.push_back(result.applied.trace.type(node.outputs[0]).shape[0]);
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::int64_t>{3, 8}));
}

TEST(PitfallsOfMemory, TheFirstOfTwoTokenCountsRunsOnAsItWasCompiled) {
  const auto joint = [](const char* name, std::int64_t tokens) {
    Trace trace = joint_trace_of([&](Tracer& tracer) {
      const Linear first(16, 32, true, kSmall);
      const Linear second(32, 16, true, kSmall);
      const Tensor x = batch_input(tracer, {tokens, 16});
      const auto in = [&](const char* module, const Linear& linear, const Tensor& input) {
        const Tracer::Scope scope = tracer.module(module);
        return linear(input);
      };
      const Tensor y = checkpoint(tracer, "block", [&] { return in("second", second, in("first", first, x).gelu()); });
      tracer.output(y.square().sum());
    });
    trace.name = name;
    return recompute(claim_trace(trace, reference_only(), Target{}, 1), "tags");
  };
  const Recomputed of_8 = joint("of_8", 8);
  const Recomputed of_3 = joint("of_3", 3);
  std::vector<CompiledTrace> programs;
  programs.push_back(planned(of_8.applied));
  programs.push_back(planned(of_3.applied));
  Engine engine(std::move(programs), engine_options(reference_only()));
  const auto expect_right = [&](const Recomputed& one) {
    const std::vector<HostTensor> inputs = reprise::random_inputs(one.applied.trace, 11);
    Program& program = engine.program(one.applied.trace.name);
    set_all(engine, program, inputs);
    program.run();
    const std::vector<HostTensor> expected = interpret(one.claimed.trace, inputs);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      EXPECT_TRUE(equal_bytes(program.output(o), expected[o].bytes())) << one.applied.trace.name << ", output " << o;
    }
    return &program;
  };
  const Program* const before = expect_right(of_8);
  expect_right(of_3);
  EXPECT_EQ(expect_right(of_8), before);
}

}  // namespace
}  // namespace reprise::test
