// SPDX-License-Identifier: Apache-2.0
// Programs against the interpreter: values, donations, views, non-finite values found, peaks measured by address.
#include "executor/program.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "ops/eval_context.h"
#include "ops/op_table.h"
#include "support/expect_error.h"
#include "support/sample_traces.h"

namespace reprise {
namespace {

using test::f32;

/// Runs `steps` times in an engine and in the interpreter, donated values carried over, and compares every bit.
void expect_same(const Trace& trace, std::uint32_t seed, int steps = 2, const ExecutorList& executors = {&reference_executor()}) {
  std::vector<CompiledTrace> compiled;
  compiled.push_back(test::compile(trace, executors));
  Engine engine(std::move(compiled), test::engine_options(executors));
  Program& program = engine.program(trace.name);
  for (const ValueId output : trace.outputs) {
    if (!trace[output].producer.valid()) continue;
    ASSERT_NO_THROW(program.output_index(trace[output].name)) << "seed " << seed;
  }
  std::vector<HostTensor> inputs = test::random_inputs(trace, seed);
  test::set_inputs(program, inputs);
  for (int step = 0; step < steps; ++step) {
    const std::vector<HostTensor> fresh = test::random_inputs(trace, seed + static_cast<std::uint32_t>(step) * 1000);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (trace.inputs[i].role == Role::param || trace.inputs[i].role == Role::state) continue;
      inputs[i] = fresh[i];
      program.set_input(i, inputs[i].bytes());
    }
    program.run();
    const std::vector<HostTensor> expected = interpret(trace, inputs);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      ASSERT_TRUE(equal_bytes(program.output(o), expected[o].bytes()))
          << "seed " << seed << " step " << step << " output " << o;
    }
    for (const Donation& donation : trace.donations) {
      inputs[donation.input] = expected[donation.output];
      const std::string& name = trace[trace.inputs[donation.input].value].name;
      ASSERT_TRUE(equal_bytes(engine.bytes(name), expected[donation.output].bytes()))
          << "seed " << seed << " step " << step << " slot " << name;
    }
  }
}

TEST(Program, RandomTracesMatchTheInterpreter) {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) expect_same(test::random_trace(seed), seed);
}

/// Reverses the last dimension by way of its workspace.
Opcode reversal() {
  OpRow row;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
  row.cost = [](const Node&, std::span<const TensorType>, std::span<const TensorType>) { return Cost{}; };
  row.workspace = [](const Node&, std::span<const TensorType> inputs, std::span<const TensorType>) { return inputs[0].bytes(); };
  row.evaluate = [](EvalContext& context) {
    const TensorType& type = context.in_type(0);
    const std::span<std::byte> scratch = context.workspace();
    if (scratch.size() != static_cast<std::size_t>(type.bytes()) || reinterpret_cast<std::uintptr_t>(scratch.data()) % 64 != 0) {
      throw InternalError("another workspace than the row asks for");
    }
    std::memcpy(scratch.data(), context.in(0).data, scratch.size());
    const auto* const from = reinterpret_cast<const float*>(scratch.data());
    auto* const to = static_cast<float*>(context.out().data);
    const std::int64_t width = type.shape.back();
    for (std::int64_t i = 0; i < type.shape.numel(); ++i) to[i] = from[i / width * width + width - 1 - i % width];
  };
  return register_op("program_test_reversal", row);
}

TEST(Program, OpaqueUserOpsComputeInTheArena) {
  Trace trace;
  trace.name = "reversed";
  Builder b(trace);
  const ValueId x = trace.add_input(f32({2, 3}), Role::batch, "x");
  const ValueId view = ops::permute(b, x, {1, 0});  // must be made dense for the op
  const Opcode reverse = reversal();
  const ValueId first = b.emit(reverse, {view}, CustomAttrs{});
  trace.outputs = {b.emit(reverse, {ops::neg(b, first)}, CustomAttrs{})};
  expect_same(trace, 4);
  const CompiledTrace compiled = test::compile(trace);
  ASSERT_EQ(compiled.plan.workspaces.size(), 2U);
  EXPECT_EQ(compiled.plan.workspaces[0].bytes, 24);
  Engine engine({compiled}, test::engine_options());
  EXPECT_EQ(engine.addressed_bytes(), engine.predicted_peak_bytes());
}

TEST(Program, SwappedParameters) {
  Trace trace;
  const ValueId p = trace.add_input(f32({3}), Role::param, "p");
  const ValueId q = trace.add_input(f32({3}), Role::param, "q");
  trace.outputs = {q, p};
  trace.donations = {{0, 0}, {1, 1}};
  expect_same(trace, 5, 3);
}

TEST(Program, UpdateWaitsForTheLastReader) {
  Trace trace;
  Builder b(trace);
  const ValueId p = trace.add_input(f32({4}), Role::param, "p");
  const ValueId x = trace.add_input(f32({4}), Role::batch, "x");
  b.context.phase = Phase::update;
  const ValueId updated = ops::add(b, p, x);
  b.context.phase = Phase::backward;
  const ValueId late = ops::mul(b, p, x);
  trace.outputs = {updated, late};
  trace.donations = {{0, 0}};
  const CompiledTrace compiled = test::compile(trace);
  EXPECT_EQ(compiled.claimed.trace.nodes.size(), 2U) << "no copy is needed";
  EXPECT_EQ(compiled.claimed.trace.nodes[0].opcode, op::mul);
  expect_same(trace, 9);
}

TEST(Program, ReaderOfTheUpdateAndOfTheParameterNeedsACopy) {
  Trace trace;
  Builder b(trace);
  const ValueId p = trace.add_input(f32({4}), Role::param, "p");
  const ValueId x = trace.add_input(f32({4}), Role::batch, "x");
  const ValueId updated = ops::add(b, p, x);
  trace.outputs = {updated, ops::mul(b, p, updated)};
  trace.donations = {{0, 0}};
  const CompiledTrace compiled = test::compile(trace);
  EXPECT_EQ(compiled.claimed.trace.nodes.back().opcode, op::copy);
  expect_same(trace, 3);
}

TEST(Program, ZeroByteValues) {
  Trace trace;
  Builder b(trace);
  const ValueId p = trace.add_input(f32({0, 3}), Role::param, "p");
  const ValueId x = trace.add_input(f32({0, 3}), Role::batch, "x");
  trace.outputs = {ops::add(b, p, x)};
  trace.donations = {{0, 0}};
  expect_same(trace, 1);
}

TEST(Program, PredictedPeakIsTheHighestByteWritten) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const Trace trace = test::random_trace(seed);
    std::int64_t measured = 0;
    std::int64_t predicted = 0;
    // A byte that happens to equal one pattern differs from the other.
    for (const std::byte pattern : {std::byte{0xA5}, std::byte{0x5A}}) {
      std::vector<CompiledTrace> compiled;
      compiled.push_back(test::compile(trace));
      Engine engine(std::move(compiled), test::engine_options());
      engine.arena().fill(pattern);
      test::set_inputs(engine.program("random"), test::random_inputs(trace, seed));
      engine.program("random").run();
      measured = std::max(measured, engine.arena().high_water(pattern));
      predicted = engine.predicted_peak_bytes();
      EXPECT_EQ(engine.addressed_bytes(), predicted) << "seed " << seed;
    }
    EXPECT_EQ(measured, predicted) << "seed " << seed;
  }
}

TEST(Program, NamesTheOpThatMadeTheNaN) {
  Trace trace;
  Builder b(trace);
  b.context.module = "block.norm";
  const ValueId x = trace.add_input(f32({2, 2}), Role::batch, "x");
  const ValueId mask = ops::full(b, Shape{2, 2}, DType::float32, -std::numeric_limits<double>::infinity());
  const ValueId logged = ops::log(b, x);
  const ValueId moved = ops::permute(b, logged, {1, 0});
  trace.outputs = {ops::binary(b, op::maximum, moved, mask)};
  std::vector<CompiledTrace> compiled;
  compiled.push_back(test::compile(trace));
  Engine engine(std::move(compiled), test::engine_options());
  Program& program = engine.program("trace");
  const std::vector<float> good = {1, 2, 3, 4};
  program.set_input<float>(0, good);
  EXPECT_FALSE(program.run_checked().has_value());
  const std::vector<float> bad = {1, 2, -3, 4};
  program.set_input<float>(0, bad);
  const auto found = program.run_checked();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->op, "log");
  EXPECT_EQ(found->module, "block.norm");
  EXPECT_TRUE(found->nan);
  const std::vector<float> poisoned = {1, std::numeric_limits<float>::quiet_NaN(), 3, 4};
  program.set_input<float>(0, poisoned);
  const auto input = program.run_checked();
  ASSERT_TRUE(input.has_value());
  EXPECT_EQ(input->op, "");
  EXPECT_EQ(input->value, "x");
}

TEST(Claim, NoExecutorTakesTheNode) {
  Trace trace;
  Builder b(trace);
  b.context.module = "mlp.act";
  const ValueId x = trace.add_input(f32({2}), Role::batch, "x");
  trace.outputs = {ops::tanh(b, x)};
  EXPECT_USER_ERROR(claim_trace(trace, {}, Target{}, 1), "no executor takes tanh(float32[2]) in mlp.act");
}

/// Takes dense arrays only, but copies anything (unless told otherwise): what a strict library looks like.
class DenseExecutor final : public Executor {
 public:
  explicit DenseExecutor(bool copies_anything = true) : copies_anything_(copies_anything) {}

  std::string_view name() const override { return "dense"; }
  std::optional<Claim> claim(const ClaimRequest& request) const override {
    auto claim = reference_executor().claim(request);
    if (claim && (request.node.opcode != op::copy || !copies_anything_)) claim->layouts.clear();
    return claim;
  }
  Kernel bind(const BindRequest& request) const override {
    for (std::size_t i = 0; i < request.inputs.size() && request.node.opcode != op::copy; ++i) {
      REPRISE_CHECK(layout_satisfies(InputLayout::dense, request.inputs[i].type->shape, request.inputs[i].strides), "a dense input");
    }
    return reference_executor().bind(request);
  }

 private:
  bool copies_anything_;
};

TEST(Claim, CopiesWhereAClaimNeedsDenseInputs) {
  const DenseExecutor dense;
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input(f32({4, 6}), Role::batch, "x");
  const ValueId turned = ops::permute(b, x, {1, 0});
  trace.outputs = {ops::tanh(b, turned), ops::neg(b, turned)};
  const CompiledTrace compiled = test::compile(trace, {&dense});
  std::size_t copies = 0;
  for (const Node& node : compiled.claimed.trace.nodes) copies += node.opcode == op::copy;
  EXPECT_EQ(copies, 1U) << "one copy serves both readers";
  for (std::uint32_t seed = 1; seed <= 60; ++seed) expect_same(test::random_trace(seed), seed, 2, {&dense});
}

TEST(Claim, NoExecutorCopiesStridedInputs) {
  const DenseExecutor dense(false);
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input(f32({4, 6}), Role::batch, "x");
  trace.outputs = {ops::tanh(b, ops::permute(b, x, {1, 0}))};
  EXPECT_USER_ERROR(claim_trace(trace, {&dense}, Target{}, 1),
                    "the executor dense copies dense arrays only; put one that takes strides before it in --executors");
}

}  // namespace
}  // namespace reprise
