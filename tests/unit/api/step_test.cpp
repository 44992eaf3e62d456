// SPDX-License-Identifier: Apache-2.0
// Compiled steps and functions: against AdamW written out by hand, parameters by name, states that go on with equal bits, refusals.
#include "reprise/step.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/tolerance.h"
#include "unit/api/line_by_hand.h"
#include "unit/api/models.h"

namespace reprise {
namespace {

using test::Line;
using test::line_inputs;
using test::LineByHand;
using test::Mlp2;
using test::numbers;
using test::squared_error;

void expect_near(std::span<const double> actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(test::near(actual[i], expected[i], test::tolerance(DType::float64, 64)))
        << i << ": " << actual[i] << ", by hand " << expected[i];
  }
}

Step line_step(const StepOptions& options, std::int64_t rows = 5) {
  const Line line;
  return compile_step(line, line_inputs(rows), [&](const std::vector<Tensor>& in) { return squared_error(line(in[0]), in[1]); }, options);
}

TEST(Step, TrainsAsAdamWByHand) {
  StepOptions options;
  options.dtype = DType::float64;
  options.optimizer.max_norm = 0.05;  // acts
  options.learning_rate = 0.01;
  Step step = line_step(options);
  LineByHand hand;
  const auto w = step.parameters().read<double>("fc.weight");
  const auto b = step.parameters().read<double>("fc.bias");
  hand.w.p.assign(w.begin(), w.end());
  hand.b.p.assign(b.begin(), b.end());
  for (int i = 1; i <= 4; ++i) {
    const std::vector<double> x = numbers(15, i);
    const std::vector<double> y = numbers(10, 10 + i);
    const double rate = 0.01 * i;
    step.set_learning_rate(rate);
    const StepOutcome outcome = step.run({x, y});
    hand.step(x, y, options.optimizer, rate, i);
    EXPECT_TRUE(test::near(outcome.loss, hand.loss, test::tolerance(DType::float64, 10)));
    EXPECT_TRUE(test::near(outcome.grad_norm.value(), hand.norm, test::tolerance(DType::float64, 10)));
    expect_near(w, hand.w.p);
    expect_near(b, hand.b.p);
  }
  EXPECT_EQ(step.steps(), 4);
  EXPECT_GT(step.predicted_peak_bytes(), 0);
}

TEST(Step, AccumulatedBatchesAreOneLargeBatch) {
  const std::vector<double> x = numbers(30, 1);
  const std::vector<double> y = numbers(20, 2);
  StepOptions options;
  options.dtype = DType::float64;
  Step whole = line_step(options, 10);
  const double loss = whole.run({x, y}).loss;
  options.accumulate = true;
  const Line line;
  Step halves = compile_step(
      line, line_inputs(5), [&](const std::vector<Tensor>& in) { return squared_error(line(in[0]), in[1]) * 0.5; }, options);
  const std::span<const double> xs = x;
  const std::span<const double> ys = y;
  const double first = halves.accumulate({xs.first(15), ys.first(10)});
  EXPECT_USER_ERROR(halves.save_state("never"), "a state cannot be saved between accumulate and run; run the step first: 1 batches wait");
  const double second = halves.run({xs.subspan(15), ys.subspan(10)}).loss;
  EXPECT_TRUE(test::near(first + second, loss, test::tolerance(DType::float64, 20)));
  const auto expected = whole.parameters().read<double>("fc.weight");
  expect_near(halves.parameters().read<double>("fc.weight"), {expected.begin(), expected.end()});
  EXPECT_USER_ERROR(whole.accumulate({x, y}), "the step was compiled without accumulation; set StepOptions::accumulate");
}

TEST(Step, FunctionsReadTheParametersThatItTrains) {
  const Line line;
  StepOptions options;
  options.dtype = DType::float64;
  const auto forward = [&](const std::vector<Tensor>& in) { return NamedTensors{{"out", line(in[0])}, {"x again", in[0]}}; };
  options.functions = {{"forward", {{"x", {DType::float64, {1, 3}}}}, forward}};
  Step step = compile_step(line, line_inputs(5), [&](const std::vector<Tensor>& in) {
    const Tensor out = line(in[0]);
    return Loss(squared_error(out, in[1]), {{"out", out}, {"same", out}});
  }, options);
  Function function = step.function("forward");
  const std::vector<double> row = {1, 2, -1};
  for (int i = 0; i < 2; ++i) {
    function.run({row});
    const auto w = step.parameters().read<double>("fc.weight");
    const auto b = step.parameters().read<double>("fc.bias");
    expect_near(function.output<double>("out"), {w[0] + 2 * w[1] - w[2] + b[0], w[3] + 2 * w[4] - w[5] + b[1]});
    expect_near(function.output<double>("x again"), row);
    std::vector<double> x = numbers(15, 3);
    std::copy(row.begin(), row.end(), x.begin());
    const auto before = function.output<double>("out");
    const std::vector<double> expected(before.begin(), before.end());
    step.run({x, numbers(10, 4)});
    expect_near(step.output<double>("out").first(2), expected);
    expect_near(step.output<double>("same").first(2), expected);
    EXPECT_EQ(step.output<double>("loss").size(), 1U);
  }
  EXPECT_EQ(step.outputs()[1].type.str(), "float64[5, 2]");
  EXPECT_EQ(function.outputs()[1].name, "x again");
  EXPECT_USER_ERROR(step.function("forwards"), "the step has no function 'forwards'; did you mean \"forward\"?");
  EXPECT_USER_ERROR(function.output<double>("outs"), "forward has no output 'outs'; did you mean \"out\"?");
  EXPECT_USER_ERROR(function.output<float>("out"), "output 'out' of forward is float64[1, 2], read as float32");
}

TEST(Step, ParametersAreReadWrittenSavedAndLoadedByName) {
  const test::TemporaryDirectory folder;
  const Line line;
  FunctionOptions options;
  options.seed = 3;
  const FunctionSpec spec{"forward", {{"x", {DType::float32, {2, 3}}}}, [&](const std::vector<Tensor>& in) {
                            return NamedTensors{{"out", line(in[0])}};
                          }};
  Function function = compile_function(line, spec, options);
  Parameters parameters = function.parameters();
  ASSERT_EQ(parameters.list().size(), 2U);
  EXPECT_EQ(parameters.list()[0].name, "fc.weight");
  EXPECT_EQ(parameters.list()[0].type.str(), "float32[2, 3]");
  const std::array<float, 6> w = {1, 2, 3, 4, 5, 6};
  parameters.write("fc.weight", w);
  parameters.write("fc.bias", std::vector<float>{0.5F, -0.5F});
  function.run({std::vector<float>{1, 0, 0, 0, 1, 1}});
  const auto out = function.output<float>("out");
  EXPECT_EQ(std::vector<float>(out.begin(), out.end()), (std::vector<float>{1.5F, 3.5F, 5.5F, 10.5F}));

  const auto file = folder.path() / "weights.safetensors";
  parameters.save(file);
  Function other = compile_function(line, spec);
  EXPECT_NE(other.parameters().read_floats("fc.weight"), parameters.read_floats("fc.weight"));
  other.parameters().load(file);
  EXPECT_EQ(other.parameters().read_floats("fc.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  options.dtype = DType::float64;
  FunctionSpec wide = spec;
  wide.inputs[0].type.dtype = DType::float64;
  Function doubles = compile_function(line, wide, options);
  EXPECT_USER_ERROR(doubles.parameters().load(file), "wrong dtype of fc.weight: the file has float32, the run float64");

  EXPECT_USER_ERROR(parameters.read<float>("fc.weigth"), "the model has no parameter 'fc.weigth'; did you mean \"fc.weight\"?");
  EXPECT_USER_ERROR(parameters.read<double>("fc.weight"), "parameter 'fc.weight' is float32, read as float64");
  EXPECT_USER_ERROR(parameters.write("fc.bias", w), "parameter 'fc.bias' has 2 elements of float32; given 6 of float32");
  EXPECT_USER_ERROR(parameters.write("fc.bias", std::vector<double>{1, 2}),
                    "parameter 'fc.bias' has 2 elements of float32; given 2 of float64");
}

TEST(Step, StatesGoOnWithEqualBits) {
  const test::TemporaryDirectory folder;
  const Mlp2 model;
  const auto loss = [&](const std::vector<Tensor>& in) { return squared_error(model(in[0], 0.25), in[1]); };
  for (const bool master : {false, true}) {
    StepOptions options;
    options.dtype = DType::bfloat16;
    options.seed = 5;
    options.optimizer.master_weights = master;
    options.optimizer.rounding = master ? Rounding::nearest : Rounding::stochastic;
    const auto batch = [](int i) {
      std::vector<bfloat16> both;
      for (const float x : numbers<float>(12 + 8, i)) both.push_back(to_bfloat16(x));
      return both;
    };
    const auto run = [&](Step& step, int i) {
      const std::vector<bfloat16> both = batch(i);
      return step.run({std::span(both).first(12), std::span(both).subspan(12)}).loss;
    };
    options.functions = {{"noisy", {line_inputs(4, DType::bfloat16)[0]}, [&](const std::vector<Tensor>& in) {
                            return NamedTensors{{"out", model(in[0], 0.5)}};
                          }}};
    const auto noisy = [&](Step& step) {
      const std::vector<bfloat16> both = batch(1);
      Function function = step.function("noisy");
      function.run({std::span(both).first(12)});
      std::vector<float> out;
      for (const bfloat16 x : function.output<bfloat16>("out")) out.push_back(to_float(x));
      return out;
    };
    const auto file = folder.path() / "state.safetensors";
    Step first = compile_step(model, line_inputs(4, DType::bfloat16), loss, options);
    for (int i = 0; i < 3; ++i) run(first, i);
    const std::vector<float> before = noisy(first);
    first.save_state(file);
    options.seed = 6;  // the file's counts
    Step second = compile_step(model, line_inputs(4, DType::bfloat16), loss, options);
    run(second, 9);
    second.load_state(file);
    EXPECT_EQ(second.steps(), 3);
    const std::vector<float> after = noisy(first);
    EXPECT_NE(after, before);
    EXPECT_EQ(noisy(second), after);
    for (int i = 3; i < 6; ++i) EXPECT_EQ(run(first, i), run(second, i));
    for (const ParameterInfo& parameter : first.parameters().list()) {
      const auto a = first.parameters().read<bfloat16>(parameter.name);
      const auto b = second.parameters().read<bfloat16>(parameter.name);
      EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << parameter.name;
    }
    first.parameters().save(file);
    EXPECT_USER_ERROR(second.load_state(file), "no state of a step; Parameters::load reads weights alone");
    // A written parameter is what the next step starts from, its master too.
    const std::vector<float> ones(24, 1.0F);
    first.parameters().write("fc.weight", ones);
    first.set_learning_rate(0);
    run(first, 7);
    EXPECT_EQ(first.parameters().read_floats("fc.weight"), ones);
  }
}

TEST(Step, EveryRecomputePolicyGivesTheSameBitsInFewerBytes) {
  const Mlp2 model;
  const std::int64_t rows = 8192;
  const auto loss = [&](const std::vector<Tensor>& in) {
    Tensor h = checkpoint(in[0].tracer(), "body", [&] { return model(in[0], 0.5); });
    for (int i = 0; i < 4; ++i) h = checkpoint(h.tracer(), "tail", [&] { return h.gelu().dropout(0.1).tanh().gelu().tanh(); });
    return squared_error(h, in[1]);
  };
  const std::vector<float> x = numbers<float>(3 * rows, 1);
  const std::vector<float> y = numbers<float>(2 * rows, 2);
  const auto trained = [&](const std::string& policy, bool accumulate) {
    StepOptions options;
    options.recompute = policy;
    options.accumulate = accumulate;
    Step step = compile_step(model, line_inputs(rows, DType::float32), loss, options);
    std::vector<double> losses;
    for (int i = 0; i < 3; ++i) {
      if (accumulate) losses.push_back(step.accumulate({x, y}));
      losses.push_back(step.run({x, y}).loss);
    }
    std::vector<std::vector<float>> weights;
    for (const ParameterInfo& parameter : step.parameters().list()) weights.push_back(step.parameters().read_floats(parameter.name));
    return std::tuple(losses, weights, step.predicted_peak_bytes(), step.recompute_plan());
  };
  const test::TemporaryDirectory folder;
  for (const bool accumulate : {false, true}) {
    const auto [losses, weights, peak, no_plan] = trained("none", accumulate);
    const auto [full_losses, full_weights, full_peak, full_plan] = trained("full", accumulate);
    std::ofstream(folder.path() / "plan") << full_plan;
    EXPECT_LT(full_peak, peak);
    for (const std::string& policy :
         {std::string("full"), std::string("auto"), std::string("ops"), "file:" + (folder.path() / "plan").string()}) {
      const auto [other_losses, other_weights, other_peak, plan] = trained(policy, accumulate);
      EXPECT_EQ(other_losses, losses) << policy;
      EXPECT_EQ(other_weights, weights) << policy;
      EXPECT_LE(other_peak, peak) << policy;
      if (policy.starts_with("file:")) {
        EXPECT_EQ(other_peak, full_peak);
      }
    }
  }
}

TEST(Step, SaysWhatDoesNotFit) {
  const Line line;
  const auto loss = [&](const std::vector<Tensor>& in) { return squared_error(line(in[0]), in[1]); };
  StepOptions options;
  options.dtype = DType::float64;
  Step step = line_step(options);
  EXPECT_USER_ERROR(step.run({numbers(15, 1)}), "step takes 2 inputs, given 1");
  EXPECT_USER_ERROR(step.run({numbers(15, 1), numbers(9, 1)}), "input 'y' of step is float64[5, 2], 10 elements; given 9 of float64");
  EXPECT_USER_ERROR(step.run({numbers<float>(15, 1), numbers(10, 1)}),
                    "input 'x' of step is float64[5, 3], 15 elements; given 15 of float32");
  EXPECT_USER_ERROR(step.set_learning_rate(-1), "a learning rate is finite and at least 0, not -1");
  EXPECT_EQ(step.steps(), 0);

  const auto refuse = [&](auto&& change, std::string_view phrase) {
    StepOptions changed = options;
    std::vector<TensorSpec> inputs = line_inputs(5);
    change(changed, inputs);
    EXPECT_USER_ERROR(compile_step(line, inputs, loss, changed), phrase);
  };
  refuse([](StepOptions& o, auto&) { o.dtype = DType::int32; }, "parameters are float32, float64 or bfloat16, not int32");
  refuse([](StepOptions& o, auto&) { o.trainable = "nothing*"; }, "no parameter matches the pattern 'nothing*' of trainable");
  refuse([](StepOptions& o, auto&) { o.learning_rate = -1; }, "a learning rate is finite and at least 0, not -1");
  refuse([](StepOptions& o, auto&) { o.recompute = "ful"; }, "full");
  refuse([](StepOptions& o, auto&) { o.recompute = "file:not_there"; }, "not_there");
  refuse([](StepOptions& o, auto&) { o.optimizer.beta2 = 1; }, "beta2 must be at least 0 and below 1, not 1");
  refuse([](StepOptions& o, auto&) { o.optimizer.master_weights = true; },
         "master_weights acts only with bfloat16 parameters, not float64");
  refuse([](StepOptions& o, auto&) { o.optimizer.rounding = Rounding::stochastic; },
         "stochastic rounding acts only with bfloat16 parameters");
  refuse([](StepOptions& o, auto&) { o.execution.threads = -1; }, "threads cannot be negative; 0 is all processors: -1");
  refuse([](StepOptions& o, auto&) { o.execution.threads = 100000; }, "threads must be at most 4096, not 100000");
  refuse([](StepOptions& o, auto&) { o.execution.executors = "lops"; }, "there is no executor 'lops'; did you mean \"loops\"?");
  refuse([](StepOptions& o, auto&) { o.execution.available_bytes = 100; }, "not enough memory for the programs of the model: ");
  refuse([](StepOptions& o, auto&) { o.functions = {{"step", {}, {}}}; }, "a function needs a name of its own; choose another: step");
  refuse([](StepOptions& o, auto&) { o.functions = {{"f", {}, {}}}; }, "a function needs a body: f");
  refuse([](StepOptions& o, auto&) { o.functions = {{"f", {}, [](const auto&) { return NamedTensors{}; }}}; },
         "a function must return something: f");
  refuse([](StepOptions& o, auto&) { o.functions = {{"f", {}, [](const auto&) { return NamedTensors{{"out", Tensor()}}; }}}; },
         "an output of f is no tensor of this trace; compute it from the inputs: out");
  refuse([](StepOptions&, auto& inputs) { inputs[1].name = "x"; }, "an input of forward has a name that is taken; choose another: x");
  refuse([](StepOptions&, auto& inputs) { inputs[1].name = "lr"; },
         "an input of forward has a name that a step uses itself; choose another: lr");
  refuse([](StepOptions&, auto& inputs) { inputs[1].name = ""; }, "an input of forward needs a name");
  refuse([](StepOptions&, auto& inputs) { inputs[0].type.shape = {5, 4}; }, "linear");
  EXPECT_USER_ERROR(compile_step(line, line_inputs(5), [&](const std::vector<Tensor>& in) { return line(in[0]); }, options),
                    "only a floating scalar can be differentiated, reduce the loss first: float64[5, 2]");
  EXPECT_USER_ERROR(compile_step(line, line_inputs(5), nullptr, options), "a step needs a loss function");
  EXPECT_USER_ERROR(compile_step(Mlp2(), line_inputs(5), loss, options), "uses a parameter that the module given does not have");
}

}  // namespace
}  // namespace reprise
