// SPDX-License-Identifier: Apache-2.0
// Several engines in one process: steps on threads of their own give the bits they give alone, while ops and messages come and go.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "reprise/reprise.h"
#include "unit/api/models.h"

namespace reprise {
namespace {

/// Compiles and trains a model of its own; returns the losses.
std::vector<double> train(int which) {
  const test::Mlp2 model;
  StepOptions options;
  options.seed = static_cast<std::uint64_t>(which);
  options.execution.threads = 2;
  Step step = compile_step(model, test::line_inputs(64, DType::float32),
                           [&](const std::vector<Tensor>& in) { return test::squared_error(model(in[0], 0.1), in[1]); }, options);
  std::vector<double> losses;
  for (int i = 0; i < 20; ++i) {
    losses.push_back(step.run({test::numbers<float>(192, which + i), test::numbers<float>(128, which - i)}).loss);
  }
  return losses;
}

TEST(Threads, EnginesSideBySideGiveTheBitsTheyGiveAlone) {
  constexpr int kCount = 3;
  std::vector<std::vector<double>> alone;
  for (int i = 0; i < kCount; ++i) alone.push_back(train(i));
  std::vector<std::vector<double>> beside(kCount);
  std::vector<std::thread> threads;
  for (int i = 0; i < kCount; ++i) {
    threads.emplace_back([i, &beside] {
      OpRow row;
      row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
      row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) { return std::vector{ops::neg(b, inputs[0])}; };
      register_op("threads_test_" + std::to_string(i), row);
      beside[static_cast<std::size_t>(i)] = train(i);
      set_log_callback({});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(beside, alone);
  EXPECT_NE(alone[0], alone[1]);
}

}  // namespace
}  // namespace reprise
