// SPDX-License-Identifier: Apache-2.0
#include "train/benchmark.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/philox.h"
#include "executor/engine.h"
#include "ir/printer.h"
#include "nn/gpt.h"
#include "runtime/arena.h"
#include "train/gpt_programs.h"
#include "train/matmul_peak.h"
#include "train/model_flops.h"
#include "train/recompute_check.h"
#include "train/step_runner.h"
#include "train/token_view.h"
#include "train/trainer.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostTokens = 4'000'000;  // longer benchmarks read them again
constexpr double kLearningRate = 5e-4;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

GptProgramOptions program_options(const BenchmarkOptions& options) {
  GptProgramOptions programs;
  programs.config = options.config;
  programs.dtype = options.dtype;
  programs.block_size = options.config.block_size;
  programs.micro_batch_size = options.micro_batch_size;
  programs.micro_steps = options.micro_steps;
  programs.adamw.decay_vectors = true;
  programs.adamw.master_weights = options.master_weights;
  if (options.dtype != DType::float32 && !options.master_weights) programs.adamw.rounding = options.rounding;
  return programs;
}

/// What the step runner needs of a run.
TrainerOptions runner_options(const BenchmarkOptions& options) {
  TrainerOptions train;
  train.block_size = options.config.block_size;
  train.micro_batch_size = options.micro_batch_size;
  train.micro_steps = options.micro_steps;
  train.seed = options.seed;
  train.schedule.kind = ScheduleKind::constant;
  train.schedule.peak = kLearningRate;
  return train;
}

/// One stream of random tokens, long enough for every window of the benchmark to be new.
std::vector<std::uint16_t> random_tokens(const BenchmarkOptions& options) {
  const std::int64_t rows = options.max_iters * options.micro_batch_size * options.micro_steps;
  const std::int64_t block = options.config.block_size;
  std::vector<std::uint16_t> tokens(
      static_cast<std::size_t>(std::max(2 * block, std::min(std::min(rows, kMostTokens) * block + 2 * block, kMostTokens)) + 1));
  const auto ids = static_cast<std::uint32_t>(std::min(kBenchmarkTokenIds, options.config.vocab_size));
  constexpr std::uint64_t kStream = 0x62656e6368;  // apart from the draws of weights
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::uint16_t>(philox_word(options.seed, i, kStream) % ids);
  }
  return tokens;
}

void count_kernels(const GptPrograms& programs, BenchmarkResult& result) {
  std::set<std::string> distinct;
  for (const CompiledTrace& program : programs.list()) {
    const Trace& trace = program.claimed.trace;
    for (const Node& node : trace.nodes) {
      if (node.executor.str() == "view") continue;
      std::string key = fmt::format("{} {} {}", node.executor.str(), opcode_name(node.opcode), print_attrs(node.attrs));
      for (const ValueId input : node.inputs) key += fmt::format(" {}", trace.type(input).str());
      for (const ValueId output : node.outputs) key += fmt::format(" {}", trace.type(output).str());
      distinct.insert(std::move(key));
      ++result.n_kernels;
    }
  }
  result.n_distinct_kernels = static_cast<std::int64_t>(distinct.size());
}

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void add_times(const BenchmarkOptions& options, const std::vector<double>& counted, double peak_flops, BenchmarkResult& result) {
  result.average_iter_time_ms = std::accumulate(counted.begin(), counted.end(), 0.0) / static_cast<double>(counted.size());
  result.median_iter_time_ms = median(counted);
  const double seconds = result.average_iter_time_ms / 1000;
  const auto tokens = static_cast<double>(result.global_batch_size * result.seq_length);
  const double flops = training_flops_per_token(options.config, result.seq_length) * tokens;
  result.tokens_per_second = tokens / seconds;
  result.tflops = flops / seconds / 1e12;
  result.model_flop_utilization_percent = 100 * flops / seconds / peak_flops;
}

std::string suggestion(const BenchmarkOptions& options, std::uint64_t available) {
  return options.suggest ? options.suggest(available) : std::string();
}

/// Before anything is measured or traced.
void refuse_what_is_clearly_too_large(const BenchmarkOptions& options, std::uint64_t available) {
  const std::int64_t least = least_bytes(program_options(options));
  if (static_cast<std::uint64_t>(least) <= available) return;
  require_memory(least, available, "the benchmark (parameters and moments alone)", suggestion(options, available));
}

GptPrograms compile_benchmark(const BenchmarkOptions& options, std::uint64_t available) {
  try {
    return compile_gpt(program_options(options), options.compile);
  } catch (const SizeError& error) {
    const std::string smaller = suggestion(options, available);
    throw UserError(error.what() + (smaller.empty() ? "" : "; this fits: " + smaller));
  }
}

BenchmarkResult describe(const BenchmarkOptions& options) {
  BenchmarkResult result;
  result.model_name = options.config.name;
  result.seq_length = options.config.block_size;
  result.micro_batch_size = options.micro_batch_size;
  result.global_batch_size = options.micro_batch_size * options.micro_steps;
  result.n_layers = options.config.n_layer;
  result.vocabulary = options.config.padded_vocab_size;
  result.tied_embeddings = options.config.tied;
  result.n_parameters = parameter_count(options.config);
  result.compiler = options.compile.as_traced ? "eager" : "reprise";
  result.recompute = options.compile.recompute.policy.str();
  return result;
}

}  // namespace

std::optional<std::string> benchmark_recompute_difference(const BenchmarkOptions& options) {
  return recompute_difference(program_options(options), options.compile, options.seed);
}

bool benchmark_fits(const BenchmarkOptions& options, std::uint64_t available) {
  return programs_fit(program_options(options), options.compile, available);
}

BenchmarkResult run_benchmark(const BenchmarkOptions& options) {
  const std::uint64_t available = available_memory_bytes();
  refuse_what_is_clearly_too_large(options, available);
  BenchmarkResult result = describe(options);
  const double peak_flops = measure_matmul_peak(options.compile, options.peak_seconds);

  const Clock::time_point compiling = Clock::now();
  const GptPrograms programs = compile_benchmark(options, available);
  EngineOptions request = engine_options(options.compile, "the benchmark");
  request.available_bytes = available;
  const std::int64_t needed = lay_out_engine(programs.list()).peak_bytes();
  if (static_cast<std::uint64_t>(needed) > available) request.suggestion = suggestion(options, available);
  Engine engine(programs.list(), request);
  result.compile_ms = ms_since(compiling);
  count_kernels(programs, result);
  result.persistent_bytes = engine.layout().persistent_bytes;
  result.transient_bytes = engine.layout().transient_bytes;
  result.predicted_memory_bytes = engine.predicted_peak_bytes();
  result.saved_for_backward_bytes = programs.training->saved.bytes;
  result.recomputed_flops_percent = programs.training->flops.recomputed_percent();
  if (options.warn) std::for_each(programs.training->warnings.begin(), programs.training->warnings.end(), options.warn);
  result.saved_for_backward_count = static_cast<std::int64_t>(programs.training->saved.values.size());

  load_tables(programs, engine);
  initialize_weights(programs, options.seed, engine);
  const std::vector<std::uint16_t> tokens = random_tokens(options);
  const TrainerOptions runner = runner_options(options);
  StepRunner steps(programs, engine, runner, TokenView(std::span<const std::uint16_t>(tokens)), nullptr);
  std::vector<double> counted;
  for (std::int64_t i = 0; i < options.max_iters; ++i) {
    const Clock::time_point start = Clock::now();
    const StepResult step = steps.run(i);
    const double ms = ms_since(start);
    result.losses.push_back(step.loss);
    if (i >= options.warmup_iters) counted.push_back(ms);
    if (options.report) options.report(fmt::format("iter {}: loss {:.4f}, iter time {:.2f} ms, t {}", i, step.loss, ms, result.seq_length));
  }
  add_times(options, counted, peak_flops, result);
  result.memory_used_bytes = engine.addressed_bytes();
  result.peak_rss_bytes = peak_rss_bytes();
  return result;
}

std::string summary_text(const BenchmarkResult& r) {
  const auto gigabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) { text += fmt::format("{}: {}\n", name, value); };
  line("Model name", r.model_name);
  line("Seq Length", fmt::format("{}", r.seq_length));
  line("Micro BS", fmt::format("{}", r.micro_batch_size));
  line("Global BS", fmt::format("{}", r.global_batch_size));
  line("Number of Layers", fmt::format("{}", r.n_layers));
  line("Vocabulary", fmt::format("{}, {} embeddings", r.vocabulary, r.tied_embeddings ? "tied" : "untied"));
  line("Number of parameters (B)", fmt::format("{:.3f}", static_cast<double>(r.n_parameters) / 1e9));
  line("Distributed Mode", "none");
  line("Compiler", r.compiler);
  line("Recompute", r.recompute);
  line("Average iter time", fmt::format("{:.2f} ms", r.average_iter_time_ms));
  line("Memory used", fmt::format("{:.2f} GB", gigabytes(r.memory_used_bytes)));
  line("Predicted memory", fmt::format("{:.2f} GB", gigabytes(r.predicted_memory_bytes)));
  line("Peak RSS", fmt::format("{:.2f} GB", gigabytes(r.peak_rss_bytes)));
  line("Saved for backward size", fmt::format("{:.2f} MiB", static_cast<double>(r.saved_for_backward_bytes) / (1024.0 * 1024.0)));
  line("Saved for backward number of tensors", fmt::format("{}", r.saved_for_backward_count));
  line("Tokens/s", fmt::format("{:.2f}", r.tokens_per_second));
  line("TFLOP/s", fmt::format("{:.4f}", r.tflops));
  line("Model FLOP utilization", fmt::format("{:.2f} %", r.model_flop_utilization_percent));
  line("Recomputed FLOPs", fmt::format("{:.2f} %", r.recomputed_flops_percent));
  return text;
}

Json summary_json(const BenchmarkResult& r) {
  Json losses = Json::array();
  for (const double loss : r.losses) losses.push_back(loss);
  return Json::object({{"schema_version", 1},
                       {"model_name", r.model_name},
                       {"seq_length", r.seq_length},
                       {"micro_batch_size", r.micro_batch_size},
                       {"global_batch_size", r.global_batch_size},
                       {"n_layers", r.n_layers},
                       {"n_parameters", r.n_parameters},
                       {"distributed_mode", "none"},
                       {"compiler", r.compiler},
                       {"recompute", r.recompute},
                       {"average_iter_time_ms", r.average_iter_time_ms},
                       {"median_iter_time_ms", r.median_iter_time_ms},
                       {"memory_used_bytes", r.memory_used_bytes},
                       {"memory_used_gb", static_cast<double>(r.memory_used_bytes) / 1e9},
                       {"predicted_memory_bytes", r.predicted_memory_bytes},
                       {"predicted_memory_gb", static_cast<double>(r.predicted_memory_bytes) / 1e9},
                       {"persistent_bytes", r.persistent_bytes},
                       {"transient_bytes", r.transient_bytes},
                       {"saved_for_backward_bytes", r.saved_for_backward_bytes},
                       {"saved_for_backward_count", r.saved_for_backward_count},
                       {"tokens_per_second", r.tokens_per_second},
                       {"tflops", r.tflops},
                       {"model_flop_utilization_percent", r.model_flop_utilization_percent},
                       {"recomputed_flops_percent", r.recomputed_flops_percent},
                       {"peak_rss_bytes", r.peak_rss_bytes},
                       {"compile_ms", r.compile_ms},
                       {"n_kernels", r.n_kernels},
                       {"n_distinct_kernels", r.n_distinct_kernels},
                       {"losses", std::move(losses)}});
}

}  // namespace reprise
