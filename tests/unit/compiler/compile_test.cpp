// SPDX-License-Identifier: Apache-2.0
// The pipeline on a small model: compiled training steps against the interpreted step, files of every stage, failures.
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/thread_pool.h"
#include "executor/engine.h"
#include "executor/loops/executor.h"
#include "executor/reference_executor.h"
#include "interpreter/interpreter.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ops/builders.h"
#include "ops/custom_field.h"
#include "ops/eval_context.h"
#include "ops/op_table.h"
#include "ops/type_check.h"
#include "recompute/policy.h"
#include "support/expect_error.h"
#include "support/sample_traces.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

using test::f32;

CompileOptions options_with(const ExecutorList& executors = {&reference_executor()}) {
  CompileOptions options;
  options.executors = executors;
  options.compare_passes = true;
  return options;
}

/// Two layers with a tied weight, a norm and a dropout: mean((dropout(gelu(rms(x) W^T + b)) W - y)^2).
Trace model() {
  Trace trace;
  trace.name = "forward";
  Builder b(trace);
  const ValueId w = trace.add_input(f32({6, 4}), Role::param, "w");
  const ValueId bias = trace.add_input(f32({6}), Role::param, "b");
  const ValueId scale = trace.add_input(f32({4}), Role::param, "scale");
  const ValueId x = trace.add_input(f32({5, 4}), Role::batch, "x");
  const ValueId y = trace.add_input(f32({5, 4}), Role::batch, "y");
  b.context.module = "mlp";
  const ValueId normed = ops::rms_norm(b, x, scale, 1e-5).y;
  ValueId h = ops::gelu(b, ops::linear(b, normed, w, bias), true);
  h = ops::dropout(b, h, 0.25);
  const ValueId out = ops::matmul(b, h, w);
  const ValueId error = ops::square(b, ops::sub(b, out, y));
  trace.outputs = {ops::mean(b, error)};
  return trace;
}

/// Runs the pure step by the interpreter and by an engine from the same start, and compares every output's bits.
void expect_same_training(const TrainingRequest& request, const CompileOptions& options) {
  const TrainingTraces traces = trace_training(request, options);
  CompiledTraining compiled = compile_training(request, options);
  const bool accumulate = compiled.accumulate.has_value();
  std::vector<CompiledTrace> programs;
  programs.push_back(std::move(compiled.step));
  if (accumulate) programs.push_back(std::move(*compiled.accumulate));
  Engine engine(std::move(programs), test::engine_options(options.executors));

  std::map<std::string, HostTensor> persistent;
  const std::vector<HostTensor> start = test::random_inputs(traces.step.trace, 11);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const TraceInput& input = traces.step.trace.inputs[i];
    if (input.role != Role::param && input.role != Role::state) continue;
    const std::string& name = traces.step.trace[input.value].name;
    persistent[name] = input.role == Role::param ? start[i] : HostTensor(start[i].type());
    copy_bytes(engine.bytes(name), persistent[name].bytes());
  }
  const auto run = [&](const Trace& trace, const std::string& name, std::uint32_t seed, std::int64_t count) {
    std::vector<HostTensor> inputs = test::random_inputs(trace, seed);
    Program& program = engine.program(name);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string& input = trace[trace.inputs[i].value].name;
      if (persistent.contains(input)) {
        inputs[i] = persistent[input];
        continue;
      }
      if (input == "rng.seed" || input == "rng.offset") inputs[i] = HostTensor::scalar<std::int64_t>(input == "rng.seed" ? 7 : 64);
      if (input == "step") inputs[i] = HostTensor::scalar<std::int64_t>(count);
      if (input == "lr") inputs[i] = HostTensor::scalar<float>(0.01F);
      program.set_input(program.input_index(input), inputs[i].bytes());
    }
    program.run();
    const std::vector<HostTensor> expected = interpret(trace, inputs);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      ASSERT_EQ(program.output(o).size(), expected[o].bytes().size());
      EXPECT_TRUE(equal_bytes(program.output(o), expected[o].bytes()))
          << name << " output " << trace[trace.outputs[o]].name << " of run " << seed;
    }
    for (const Donation& donation : trace.donations) {
      persistent[trace[trace.inputs[donation.input].value].name] = expected[donation.output];
    }
  };
  for (std::uint32_t step = 1; step <= 3; ++step) {
    if (accumulate) run(*traces.accumulate, "accumulate", step * 10, step);
    run(traces.step.trace, "step", step * 10 + 1, step);
  }
  EXPECT_EQ(engine.addressed_bytes(), engine.predicted_peak_bytes());
}

TEST(Compile, TrainingMatchesTheInterpretedStep) {
  TrainingRequest request;
  request.forward = model();
  expect_same_training(request, options_with());
  request.adamw.max_norm = 1;
  request.accumulate = true;
  expect_same_training(request, options_with());
  request.trainable = "w,b";
  expect_same_training(request, options_with());
}

/// x * x * k in three forms: made of parts; of parts with a vjp of its own, twice too large; opaque.
OpRow square_row(bool parts, bool own_vjp) {
  OpRow row;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
  if (parts) {
    row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
      return std::vector{ops::mul_scalar(b, ops::square(b, inputs[0]), custom_field<double>(node, "k"))};
    };
  } else {
    row.evaluate = [](EvalContext& context) {
      std::vector<float> x = context.load<float>(0);
      const auto k = static_cast<float>(custom_field<double>(context.node(), "k"));
      for (float& value : x) value = value * value * k;
      context.store<float>(0, x);
    };
    row.cost = [](const Node&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
      return streaming_cost(inputs, outputs);
    };
  }
  if (own_vjp) {
    row.vjp = [](VjpContext& c) {
      return std::vector{ops::mul_scalar(c.b, ops::mul(c.b, c.gy(), c.in(0)), 4 * custom_field<double>(c.node, "k"))};
    };
  }
  return row;
}

TEST(Compile, UserOpsTrainByPartsOrByTheirOwnVjp) {
  const std::vector<std::pair<Opcode, bool>> forms = {{register_op("compile_test_parts", square_row(true, false)), false},
                                                      {register_op("compile_test_own_vjp", square_row(true, true)), true},
                                                      {register_op("compile_test_opaque", square_row(false, true)), true}};
  for (const auto& [opcode, doubled] : forms) {
    SCOPED_TRACE(opcode_name(opcode));
    TrainingRequest request;
    request.forward = model();
    Builder b(request.forward);
    const ValueId w = request.forward.inputs[0].value;
    const ValueId penalty = ops::sum(b, b.emit(opcode, {w}, CustomAttrs{"", {{"k", 0.25}}}));
    request.forward.outputs = {penalty};
    request.trainable = "w";
    expect_same_training(request, options_with());
    const CompiledTraining compiled = compile_training(request, options_with({&loops_executor(), &reference_executor()}));
    const auto& nodes = compiled.step.claimed.trace.nodes;
    const auto is_left = [o = opcode](const Node& node) { return node.opcode == o; };
    EXPECT_EQ(std::any_of(nodes.begin(), nodes.end(), is_left), opcode_name(opcode) == "compile_test_opaque");
    // d (k w^2) / dw = 2 k w, or twice that by the wrong vjp, which must be the one that is used.
    const Trace joint = trace_training(request, options_with()).joint.trace;
    const std::vector<HostTensor> inputs = test::random_inputs(joint, 3);
    const HostTensor gradient = interpret(joint, inputs).back();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_FLOAT_EQ(gradient.as<float>()[i], (doubled ? 1.0F : 0.5F) * inputs[0].as<float>()[i]);
    }
  }
}

TEST(Compile, AnOpaqueUserOpWithoutVjpIsNoConstant) {
  const Opcode opcode = register_op("compile_test_no_vjp", square_row(false, false));
  TrainingRequest request;
  request.forward = model();
  Builder b(request.forward);
  request.forward.outputs = {ops::sum(b, b.emit(opcode, {request.forward.inputs[0].value}, CustomAttrs{"", {{"k", 0.25}}}))};
  EXPECT_USER_ERROR(compile_training(request, options_with()),
                    "the loss depends on parameters through op 'compile_test_no_vjp', which has no vjp");
}

TEST(Compile, UpdatesLieInTheirSlotsWithoutCopies) {
  TrainingRequest request;
  request.forward = model();
  const CompiledTraining compiled = compile_training(request, options_with());
  for (const StepParameter& parameter : compiled.parameters) {
    for (const std::string& name : {parameter.name, parameter.first_moment, parameter.second_moment}) {
      int takers = 0;
      for (const StoragePlan& storage : compiled.step.plan.storages) takers += storage.slot == name && storage.onto == name;
      EXPECT_EQ(takers, 1) << name;
    }
  }
  for (const Node& node : compiled.step.claimed.trace.nodes) EXPECT_NE(node.opcode, op::copy);
  EXPECT_EQ(compiled.random_words, 32) << "30 draws, in blocks of 4";
  EXPECT_GT(compiled.saved.bytes, 0);
}

/// Values that passes do without, one equal to another, and one that is drawn; `tag` on each, if any.
TrainingRequest chain(std::optional<TagKind> tag) {
  TrainingRequest request;
  Trace& trace = request.forward;
  trace.name = "forward";
  Builder b(trace);
  const auto tagged = [&](ValueId value) {
    if (tag) trace[value].tags.push_back({*tag, "test"});
    return value;
  };
  const ValueId w = trace.add_input(f32({4, 6}), Role::param, "w");
  const ValueId x = trace.add_input(f32({6, 4}), Role::batch, "x");
  const ValueId turned = ops::permute(b, tagged(ops::permute(b, w, {1, 0})), {1, 0});
  const ValueId grouped = ops::reshape(b, tagged(ops::reshape(b, turned, {2, 12})), {4, 6});
  const ValueId exact = ops::cast(b, tagged(ops::cast(b, grouped, DType::float64)), DType::float32);
  const ValueId rectified = ops::unary(b, op::relu, tagged(ops::unary(b, op::relu, exact)));
  const ValueId product = tagged(ops::matmul(b, rectified, x));
  const ValueId once = tagged(ops::exp(b, product));
  const ValueId twice = tagged(ops::exp(b, product));
  const ValueId dropped = tagged(ops::dropout(b, ops::add(b, once, twice), 0.5));
  tagged(ops::tanh(b, dropped));  // read by nothing
  trace.outputs = {ops::mean(b, dropped)};
  return request;
}

TEST(Compile, TagsAloneChangeNothing) {
  const auto step = [](std::optional<TagKind> tag, const char* policy) {
    CompileOptions options = options_with();
    options.recompute.policy = parse_policy(policy);
    const CompiledTraining compiled = compile_training(chain(tag), options);
    if (options.recompute.policy.kind == PolicySpec::Kind::none) {
      EXPECT_EQ(compiled.warnings.size(), tag ? 1U : 0U);
    }
    return print_trace(compiled.step.claimed.trace);
  };
  const std::string expected = step({}, "none");
  for (const TagKind tag : {TagKind::must_save, TagKind::prefer_save, TagKind::prefer_recompute, TagKind::offload}) {
    EXPECT_EQ(step(tag, "none"), expected);
  }
  EXPECT_NE(step(TagKind::prefer_recompute, "tags"), expected);
}

TEST(Compile, DumpsEveryStage) {
  const test::TemporaryDirectory folder;
  CompileOptions options = options_with();
  options.dump = folder.path() / "dump";
  TrainingRequest request;
  request.forward = model();
  const CompiledTraining compiled = compile_training(request, options);
  const std::vector<std::string> names = list_directory(options.dump);
  EXPECT_EQ(names, (std::vector<std::string>{"forward.00-traced.txt", "forward.01-functionalize.txt", "forward.02-rng.txt",
                                             "forward.03-simplify.txt", "forward.04-cse.txt", "forward.05-dce.txt",
                                             "forward.06-renumber.txt", "step.00-decompose.txt", "step.01-simplify.txt", "step.02-cse.txt",
                                             "step.03-dce.txt", "step.04-renumber.txt", "step.05-claim.txt", "step.06-schedule.txt",
                                             "step.07-memory.txt", "training.00-joint.txt", "training.01-step.txt"}));
  EXPECT_EQ(parse_trace(read_text_file(options.dump / "step.06-schedule.txt")), compiled.step.claimed.trace);
  EXPECT_EQ(parse_memory_plan(read_text_file(options.dump / "step.07-memory.txt")), compiled.step.plan);
}

/// Cannot claim.
class LyingExecutor final : public Executor {
 public:
  std::string_view name() const override { return "lying"; }
  std::optional<Claim> claim(const ClaimRequest&) const override { throw InternalError("cannot decide"); }
  Kernel bind(const BindRequest& request) const override { return reference_executor().bind(request); }
};

TEST(Compile, AFailingStageLeavesItsTraceAndTheCommand) {
  const test::TemporaryDirectory folder;
  const LyingExecutor lying;
  CompileOptions options = options_with({&lying});
  options.failures = folder.path();
  Trace trace;
  trace.name = "eval";
  Builder b(trace);
  trace.outputs = {ops::tanh(b, trace.add_input(f32({2}), Role::batch, "x"))};
  const std::string file = (folder.path() / "reprise-eval-claim.failed.txt").string();
  EXPECT_INTERNAL_ERROR(compile_trace(trace, options),
                        "stage 'claim' failed on trace 'eval': cannot decide\nreplay it with: reprise run-trace " + file);
  EXPECT_EQ(parse_trace(read_text_file(file)), trace);
  options.failures = file;  // no folder
  EXPECT_INTERNAL_ERROR(compile_trace(trace, options),
                        "stage 'claim' failed on trace 'eval': cannot decide\nits trace could not be kept: cannot create ");
}

}  // namespace
}  // namespace reprise
