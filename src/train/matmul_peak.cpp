// SPDX-License-Identifier: Apache-2.0
#include "train/matmul_peak.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "executor/engine.h"
#include "nn/tracer.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSide = 1024;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Trace product_trace() {
  Tracer tracer("matmul_peak");
  const TensorType square{DType::float32, Shape{kSide, kSide}};
  const Tensor a = tracer.input("a", square, Role::batch);
  const Tensor b = tracer.input("b", square, Role::batch);
  tracer.output(a.matmul(b));
  return std::move(tracer).finish().trace;
}

}  // namespace

double measure_matmul_peak(const CompileOptions& compile, double seconds) {
  CompileOptions quiet = compile;
  quiet.dump.clear();
  Engine engine({compile_trace(product_trace(), quiet)}, engine_options(compile, "measuring the matrix-product peak"));
  Program& program = engine.program("matmul_peak");
  const std::vector<float> ones(static_cast<std::size_t>(kSide * kSide), 1.0F);

  const Clock::time_point start = Clock::now();
  double best = 0;
  do {
    for (const std::size_t input : {0u, 1u}) program.set_input(input, std::span<const float>(ones));
    const Clock::time_point began = Clock::now();
    program.run();
    best = std::max(best, 2.0 * kSide * kSide * kSide / seconds_since(began));
  } while (seconds_since(start) < seconds);
  return best;
}

}  // namespace reprise
