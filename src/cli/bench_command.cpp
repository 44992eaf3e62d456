// SPDX-License-Identifier: Apache-2.0
// `reprise bench`: the training benchmark of a model, printed and as JSON.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/model_source.h"
#include "cli/standard_streams.h"
#include "io/file_write.h"
#include "reprise/error.h"
#include "train/benchmark.h"

namespace reprise {
namespace {

BenchmarkOptions benchmark_options(const ResolvedOptions& options) {
  BenchmarkOptions bench;
  bench.config = find_model(options.get_text("model"), ignored_config_keys(options)).config;
  apply_size_options(options, bench.config);
  if (bench.config.vocab_follows_tokenizer) fit_vocabulary(bench.config, kBenchmarkTokenIds);
  bench.config.tied = options.get_flag("tie_embeddings");
  bench.dtype = dtype_option(options);
  bench.micro_batch_size = options.get_int("micro_batch_size");
  bench.micro_steps = options.get_int("global_batch_size") / bench.micro_batch_size;
  bench.master_weights = options.get_flag("master_weights");
  bench.rounding = rounding_option(options);
  bench.max_iters = options.get_int("max_iters");
  bench.warmup_iters = options.get_int("warmup_iters");
  bench.seed = static_cast<std::uint64_t>(options.get_int("seed"));
  bench.compile = compile_options(options, bench.config);
  bench.compile.as_traced = options.get_text("compile") == "eager";
  return bench;
}

std::string command_of(const ResolvedOptions& options, const BenchmarkOptions& bench) {
  return fmt::format("reprise bench {} --n_layers {} --block_size {} --micro_batch_size {}", options.get_text("model"),
                     bench.config.n_layer, bench.config.block_size, bench.micro_batch_size);
}

/// A smaller benchmark of the model that fits into `available` bytes: fewer rows, then shorter ones, then fewer layers; empty when
/// nothing does.
std::string smaller_command(const ResolvedOptions& options, BenchmarkOptions bench, std::uint64_t available) {
  const auto smaller = [&]() {
    for (std::int64_t* size : {&bench.micro_batch_size, &bench.config.block_size, &bench.config.n_layer}) {
      const std::int64_t least = size == &bench.config.block_size ? 128 : 1;
      if (*size > least) {
        *size = std::max(least, *size / 2);
        return true;
      }
    }
    return false;
  };
  bench.micro_steps = 1;
  while (smaller()) {
    if (benchmark_fits(bench, available)) return command_of(options, bench);
  }
  return "";
}

}  // namespace

int run_bench(const ResolvedOptions& options) {
  BenchmarkOptions bench = benchmark_options(options);
  const bool json_only = options.has("json") && options.get_text("json") == "-";
  if (!options.get_flag("quiet")) {
    bench.report = [](std::string_view line) { print_error(fmt::format("{}\n", line)); };
  }
  bench.warn = [](std::string_view warning) { log_warning(std::string(warning)); };
  bench.suggest = [&options, smaller = bench](std::uint64_t available) { return smaller_command(options, smaller, available); };
  if (options.get_flag("check_recompute") && !report_recompute_check(options, benchmark_recompute_difference(bench))) return kExitNo;
  // Opened first: what is measured is not lost to a folder that cannot be written.
  OutputFile json(options.has("json") ? std::optional<std::filesystem::path>(options.get_text("json")) : std::nullopt);
  const BenchmarkResult result = run_benchmark(bench);
  json.write(write_json(summary_json(result), 2) + "\n");
  json.commit();
  if (json_only) print_error(summary_text(result));
  else print_output(summary_text(result));
  return 0;
}

}  // namespace reprise
