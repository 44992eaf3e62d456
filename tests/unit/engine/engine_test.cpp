// SPDX-License-Identifier: Apache-2.0
// Engines: several programs over one set of parameters, sessions, refusal before a page is touched, no allocation in a step.
#include "executor/engine.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "unit/engine/allocation_count.h"
#include "support/sample_traces.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

using test::f32;

/// name: p' = p + x, loss = p * x.
Trace update(const std::string& name, bool donate) {
  Trace trace;
  trace.name = name;
  Builder b(trace);
  const ValueId p = trace.add_input(f32({256}), Role::param, "p");
  const ValueId x = trace.add_input(f32({256}), Role::batch, "x");
  trace.outputs = {b.emit(op::mul, {p, x}, NoAttrs{}, "loss")};
  if (donate) {
    b.context.phase = Phase::update;
    trace.outputs.push_back(b.emit(op::add, {p, x}, NoAttrs{}, "p.new"));
    trace.donations = {{0, 1}};
  }
  return trace;
}

TEST(Engine, ProgramsShareParameters) {
  std::vector<CompiledTrace> compiled;
  compiled.push_back(test::compile(update("step", true)));
  compiled.push_back(test::compile(update("eval", false)));
  Engine engine(std::move(compiled), test::engine_options());
  EXPECT_EQ(engine.slots().size(), 1U);
  EXPECT_TRUE(engine.has_program("eval"));
  EXPECT_FALSE(engine.has_program("decode"));
  for (float& x : engine.values<float>("p")) x = 3;
  const std::vector<float> ones(256, 1.0F);
  const std::vector<float> twos(256, 2.0F);
  Program& step = engine.program("step");
  step.set_input<float>(step.input_index("x"), ones);
  step.run();
  EXPECT_EQ(engine.values<float>("p")[255], 4.0F);
  Program& eval = engine.program("eval");
  eval.set_input<float>(eval.input_index("x"), twos);
  eval.run();
  EXPECT_EQ(eval.output_as<float>(eval.output_index("loss"))[7], 8.0F);
  EXPECT_EQ(engine.values<float>("p")[255], 4.0F) << "eval does not write parameters";
  EXPECT_INTERNAL_ERROR(engine.program("decode"), "the engine has no program decode");
  EXPECT_INTERNAL_ERROR(engine.bytes("q"), "no parameter or state q");
  EXPECT_INTERNAL_ERROR(eval.set_input<float>(1, std::vector<float>(3)), "has 1024 bytes, not 12");
  EXPECT_INTERNAL_ERROR(eval.input_index("nobody"), "has no input nobody");
}

TEST(Engine, ProgramsThatDisagreeAreRefused) {
  Trace other;
  other.name = "eval";
  const ValueId p = other.add_input(f32({3}), Role::param, "p");
  Builder b(other);
  other.outputs = {ops::neg(b, p)};
  std::vector<CompiledTrace> compiled;
  compiled.push_back(test::compile(update("step", true)));
  compiled.push_back(test::compile(other));
  EXPECT_INTERNAL_ERROR(lay_out_engine(compiled), "programs disagree on p");
}

TEST(Engine, SessionStatesLieInTheTransientRegion) {
  // cache' = cache + x; y = cache' * p
  Trace decode;
  decode.name = "decode";
  Builder b(decode);
  const ValueId p = decode.add_input(f32({256}), Role::param, "p");
  const ValueId cache = decode.add_input(f32({256}), Role::state, "cache");
  const ValueId x = decode.add_input(f32({256}), Role::batch, "x");
  const ValueId next = ops::add(b, cache, x);
  decode.outputs = {ops::mul(b, next, p), next};
  decode.donations = {{1, 1}};
  std::vector<CompiledTrace> compiled;
  compiled.push_back(test::compile(update("step", true)));
  compiled.push_back(test::compile(decode));
  compiled.back().session_states = {"cache"};
  const EngineLayout layout = lay_out_engine(compiled);
  EXPECT_EQ(layout.persistent_bytes, 1024);
  EXPECT_EQ(layout.session_bytes, 1024);
  const std::int64_t step = compiled[0].plan.transient_bytes;
  const std::int64_t with_cache = 1024 + compiled[1].plan.transient_bytes;
  EXPECT_EQ(layout.transient_bytes, std::max(step, with_cache));
  EXPECT_EQ(layout.arena_bytes, 1024 + std::max(step, with_cache)) << "never the cache beside the step";
  Engine engine(std::move(compiled), test::engine_options());
  for (float& v : engine.values<float>("p")) v = 2;
  for (float& v : engine.values<float>("cache")) v = 0;
  Program& program = engine.program("decode");
  for (int i = 0; i < 3; ++i) {
    program.set_input<float>(2, std::vector<float>(256, 1.0F));
    program.run();
  }
  EXPECT_EQ(program.output_as<float>(0)[0], 6.0F);
  EXPECT_EQ(engine.values<float>("cache")[9], 3.0F);
}

TEST(Engine, RefusesBeforeAPageIsTouched) {
  std::vector<CompiledTrace> compiled;
  compiled.push_back(test::compile(update("step", true)));
  EngineOptions options = test::engine_options();
  options.available_bytes = 1500;
  options.what = "the training step";
  options.suggestion = "reprise train --micro_batch_size 1";
  EXPECT_USER_ERROR(Engine(compiled, options), "not enough memory for the training step");
  options.available_bytes = static_cast<std::uint64_t>(lay_out_engine(compiled).peak_bytes());
  const Engine engine(compiled, options);
  EXPECT_EQ(engine.predicted_peak_bytes(), static_cast<std::int64_t>(*options.available_bytes));
}

/// mul and add of float32 without broadcast, on the pool, with a workspace it really uses.
class PairExecutor final : public Executor {
 public:
  std::string_view name() const override { return "pair"; }
  std::optional<Claim> claim(const ClaimRequest& request) const override {
    if (request.node.opcode != op::mul && request.node.opcode != op::add) return std::nullopt;
    Claim claim;
    claim.workspace_bytes = 640;
    claim.in_place = {{0, 0}, {1, 0}};
    return claim;
  }
  Kernel bind(const BindRequest& request) const override {
    return [product = request.node.opcode == op::mul](const KernelCall& call) {
      const float* const a = call.inputs[0].as<float>();
      const float* const b = call.inputs[1].as<float>();
      float* const y = call.outputs[0].as<float>();
      for (std::byte& scratch : call.workspace) scratch = std::byte{1};
      call.pool.parallel_for(256, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i) y[i] = product ? a[i] * b[i] : a[i] + b[i];
      });
    };
  }
};

TEST(Engine, AStepAllocatesNothing) {
  const PairExecutor pair;
  std::vector<CompiledTrace> compiled;
  compiled.push_back(test::compile(update("step", true), {&pair}));
  EngineOptions options = test::engine_options({&pair});
  options.threads = 2;
  Engine engine(std::move(compiled), options);
  Program& step = engine.program("step");
  EXPECT_EQ(step.reference_nodes(), 0U);
  const std::vector<float> ones(256, 1.0F);
  const long before = test::allocation_count();
  for (int i = 0; i < 10; ++i) {
    step.set_input<float>(1, ones);
    step.run();
  }
  EXPECT_EQ(test::allocation_count(), before);
  EXPECT_EQ(engine.values<float>("p")[128], 10.0F);
  EXPECT_EQ(engine.addressed_bytes(), engine.predicted_peak_bytes());
}

}  // namespace
}  // namespace reprise
