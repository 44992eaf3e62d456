// SPDX-License-Identifier: Apache-2.0
// The training benchmark: iterations of the whole step on random tokens, and what they took.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "io/json.h"
#include "nn/gpt_config.h"

namespace reprise {

/// Token ids are uniform in [0, kBenchmarkTokenIds), or in the whole of a smaller vocabulary.
inline constexpr std::int64_t kBenchmarkTokenIds = 100;

struct BenchmarkOptions {
  GptConfig config;                 // its block size is the sequence length
  DType dtype = DType::float32;
  std::int64_t micro_batch_size = 1;
  std::int64_t micro_steps = 1;
  bool master_weights = false;
  Rounding rounding = Rounding::stochastic;  // of bfloat16 without masters
  std::int64_t max_iters = 45;
  std::int64_t warmup_iters = 25;   // not counted
  std::uint64_t seed = 1337;
  CompileOptions compile;           // `as_traced` is the compiler "eager"; with the recompute policy
  /// For the refusal: a command that fits into so many bytes, or nothing.
  std::function<std::string(std::uint64_t available)> suggest;
  double peak_seconds = 0.7;        // longest time to measure the machine's matrix products
  std::function<void(std::string_view line)> report;  // told of every iteration
  std::function<void(std::string_view line)> warn;    // told what is worth saying about the recompute policy
};

/// Names, figures and units as printed and as written to JSON.
struct BenchmarkResult {
  std::string model_name;
  std::int64_t seq_length = 0;
  std::int64_t micro_batch_size = 0;
  std::int64_t global_batch_size = 0;
  std::int64_t n_layers = 0;
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  std::int64_t n_parameters = 0;
  std::string compiler;
  std::string recompute = "none";
  double average_iter_time_ms = 0;
  double median_iter_time_ms = 0;
  std::int64_t memory_used_bytes = 0;       // highest arena byte that a kernel is given, by address
  std::int64_t predicted_memory_bytes = 0;  // the plan's, libraries' own memory included
  std::int64_t persistent_bytes = 0;
  std::int64_t transient_bytes = 0;
  std::int64_t saved_for_backward_bytes = 0;
  std::int64_t saved_for_backward_count = 0;
  double tokens_per_second = 0;
  double tflops = 0;
  double model_flop_utilization_percent = 0;
  double recomputed_flops_percent = 0;
  std::int64_t peak_rss_bytes = 0;
  double compile_ms = 0;
  std::int64_t n_kernels = 0;
  std::int64_t n_distinct_kernels = 0;  // of different op, attributes, types or executor
  std::vector<double> losses;           // of every iteration
};

/// Runs the benchmark: token ids uniform in 0..99, AdamW (rate 5e-4, decay 0.1 on all parameters, betas 0.9 and 0.95), no
/// clipping, loss over all positions. UserError as Engine when memory does not suffice.
BenchmarkResult run_benchmark(const BenchmarkOptions& options);

/// As recompute_difference, of the benchmark's step.
std::optional<std::string> benchmark_recompute_difference(const BenchmarkOptions& options);

/// The bytes that run_benchmark would need, without running it.
bool benchmark_fits(const BenchmarkOptions& options, std::uint64_t available);

/// The summary, one figure a line.
std::string summary_text(const BenchmarkResult& result);
/// The same as JSON, exact.
Json summary_json(const BenchmarkResult& result);

}  // namespace reprise
