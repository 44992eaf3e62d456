// SPDX-License-Identifier: Apache-2.0
// Loads ops from a shared object, checks them, and trains a module that uses them: it finds the decay of a recurrence.
#include <reprise/reprise.h>
#include <reprise/test.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using reprise::Tensor;

constexpr std::int64_t kLength = 24;
constexpr double kDecay = 0.7;  // to be found

/// snake(recurrence(x, decay))
struct Filter : reprise::Module {
  Filter() : decay(add_parameter("decay", {}, reprise::Initializer::zeros())) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor summed = reprise::custom_op("recurrence", {x, x.tracer().parameter(decay)})[0];
    return reprise::custom_op("snake", {summed}, {{"a", 0.25}})[0];
  }

  reprise::Parameter decay;
};

int run(const std::string& file) {
  for (const std::string& name : reprise::load_ops(file)) {
    const reprise::test::OpCheck check = reprise::test::check_op(name);
    std::printf("%s: %zu samples, %s\n", name.c_str(), check.samples, check.passed() ? "passed" : check.str().c_str());
    if (!check.passed()) return 1;
  }

  const Filter filter;
  reprise::StepOptions options;
  options.learning_rate = 0.05;
  reprise::Step step = reprise::compile_step(
      filter, {{"x", {reprise::DType::float32, {1, kLength}}}, {"wanted", {reprise::DType::float32, {1, kLength}}}},
      [&](const std::vector<Tensor>& in) { return (filter(in[0]) - in[1]).square().mean(); }, options);
  std::vector<float> x(kLength);
  std::vector<float> wanted(kLength);
  double state = 0;
  for (std::size_t t = 0; t < x.size(); ++t) {
    x[t] = std::cos(static_cast<float>(t * t));
    state = kDecay * state + static_cast<double>(x[t]);
    const double wave = std::sin(0.25 * state);
    wanted[t] = static_cast<float>(state + wave * wave / 0.25);
  }
  for (int i = 0; i < 200; ++i) {
    const double loss = step.run({x, wanted}).loss;
    if (i % 50 == 0 || i == 199) {
      std::printf("step %3d  loss %.6f  decay %.3f\n", i + 1, loss, static_cast<double>(step.parameters().read<float>("decay")[0]));
    }
  }
  return std::abs(static_cast<double>(step.parameters().read<float>("decay")[0]) - kDecay) < 0.02 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: use_ops my_ops.so\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const reprise::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
