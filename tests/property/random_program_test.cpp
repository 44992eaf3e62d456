// SPDX-License-Identifier: Apache-2.0
// Properties of random programs: they print and parse to equal traces, passes keep every bit of their results, and their
// gradients agree with finite differences. REPRISE_RANDOM_PROGRAMS: how many; REPRISE_SEED: this one alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "autograd/differentiate.h"
#include "base/philox.h"
#include "interpreter/interpreter.h"
#include "interpreter/random_inputs.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ops/verifier.h"
#include "passes/pass_manager.h"
#include "passes/rng.h"
#include "support/random_program.h"
#include "support/seeds.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

void expect_sound_and_readable(const Trace& trace) {
  const std::vector<std::string> problems = verify(trace);
  EXPECT_TRUE(problems.empty()) << problems[0] << "\n" << print_trace(trace);
  EXPECT_TRUE(parse_trace(print_trace(trace)) == trace) << print_trace(trace);
}

TEST(RandomProgram, PrintsParsesAndKeepsItsBitsThroughPasses) {
  test::for_each_seed([](std::uint64_t seed) {
    test::ProgramOptions shape;
    shape.tiles = true;
    const Trace program = test::random_program(seed, shape);
    expect_sound_and_readable(program);
    PassOptions options;
    options.compare = true;
    options.seed = seed;
    options.dump = [](std::string_view, const Trace& result) { expect_sound_and_readable(result); };
    const Trace numbered = number_draws(program).trace;  // from here on the interpreter can run it, in-place nodes included
    run_passes(numbered, pass_catalogue(), options);
  });
}

double loss_at(const Trace& trace, const std::vector<HostTensor>& inputs) { return interpret(trace, inputs).at(0).number(); }

/// The inputs moved by h along `direction`, in the one tensor `moved`.
std::vector<HostTensor> moved_by(std::vector<HostTensor> inputs, std::size_t moved, const std::vector<double>& direction, double h) {
  const std::span<double> numbers = inputs[moved].as<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += h * direction[i];
  return inputs;
}

/// Five points (Abramowitz and Stegun, 25.3.6).
double directional_derivative(const Trace& trace, const std::vector<HostTensor>& inputs, std::size_t moved,
                              const std::vector<double>& direction) {
  constexpr double h = test::kFivePointStep;
  const auto at = [&](double steps) { return loss_at(trace, moved_by(inputs, moved, direction, steps * h)); };
  return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h);
}

TEST(RandomProgram, GradientsAgreeWithFiniteDifferences) {
  test::for_each_seed([](std::uint64_t seed) {
    const Trace program = number_draws(test::random_program(seed)).trace;
    const std::vector<HostTensor> inputs = random_inputs(program, seed);
    const Trace pure = run_passes(program, std::vector{find_pass("functionalize")});
    std::vector<ValueId> wrt;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < pure.inputs.size(); ++i) {
      if (pure.type(pure.inputs[i].value).dtype != DType::float64) continue;
      wrt.push_back(pure.inputs[i].value);
      places.push_back(i);
    }
    const JointTrace joint = differentiate(pure, wrt);
    expect_sound_and_readable(joint.trace);
    PassOptions options;
    options.compare = true;
    options.seed = seed;
    const Trace simple =
        run_passes(joint.trace, std::vector{find_pass("simplify"), find_pass("cse"), find_pass("dce"), find_pass("renumber")}, options);
    const std::vector<HostTensor> results = interpret(simple, inputs);
    EXPECT_EQ(results[0].number(), loss_at(program, inputs)) << "the joint trace has another loss\n" << print_trace(program);
    for (std::size_t w = 0; w < wrt.size(); ++w) {
      const std::vector<double> gradient = results.at(pure.outputs.size() + w).numbers();
      std::vector<double> direction(gradient.size());
      double expected = 0;
      double size = 1 + std::abs(results[0].number());
      for (std::size_t i = 0; i < direction.size(); ++i) {
        direction[i] = 2 * uniform_double(philox_word(seed, i, w)) - 1;
        expected += gradient[i] * direction[i];
        size += std::abs(gradient[i]);
      }
      const double found = directional_derivative(program, inputs, places[w], direction);
      EXPECT_NEAR(found, expected, test::difference_tolerance() * size)
          << "gradient of %" << pure[wrt[w]].name << "\n" << print_trace(program) << print_trace(joint.trace);
    }
  });
}

}  // namespace
}  // namespace reprise
