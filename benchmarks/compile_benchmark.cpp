// SPDX-License-Identifier: Apache-2.0
// The compile of a training step of GPT-3's width at growing depth: seconds of every stage, and the process's peak memory so far
// (run one alone with --benchmark_filter to read it). No weights are made. Names are compile/POLICY/LAYERS.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <string>

#include "compiler/compile.h"
#include "executor/executor_list.h"
#include "memory/memory_plan.h"
#include "memory/schedule.h"
#include "nn/gpt_trace.h"
#include "recompute/apply.h"
#include "recompute/validate.h"

namespace {

using namespace reprise;

/// Seconds of the stages of one compile, as counters of the benchmark.
class Stages {
 public:
  explicit Stages(benchmark::State& state) : state_(state) {}

  template <class Stage>
  auto time(const char* name, Stage&& stage) {
    const auto start = std::chrono::steady_clock::now();
    auto result = stage();
    state_.counters[name] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  benchmark::State& state_;
};

void compile(benchmark::State& state, const std::string& policy) {
  GptConfig config = named_config("gpt3-175b");
  config.n_layer = state.range(0);
  CompileOptions options = host_options(make_executor_list());
  options.recompute.policy = parse_policy(policy);
  const ClaimNode claim = [&](Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    return claim_node(node, inputs, outputs, options.executors, options.target, options.threads);
  };
  Stages stages(state);
  for (auto _ : state) {
    TrainingRequest request;
    request.forward = stages.time("front", [&] { return trace_forward_loss(config, {}).trace; });
    request.adamw.max_norm = 1;
    const TrainingTraces traces = stages.time("joint", [&] { return trace_training(request, options); });
    const ClaimedTrace claimed = stages.time("claim", [&] { return clean_and_claim(traces.step.trace, options); });
    const RecomputePlan plan =
        stages.time("plan", [&] { return plan_recompute(claimed.trace, options.recompute, SingleNodePricer()).plan; });
    const ClaimedTrace applied = stages.time("apply", [&] {
      validate_plan(claimed.trace, plan);
      return apply_plan(claimed, plan, claim);
    });
    const ClaimedTrace ordered = stages.time("schedule", [&] {
      const std::vector<std::uint32_t> order = schedule(applied);
      validate_schedule(applied, order);
      return apply_schedule(applied, order);
    });
    const MemoryPlan memory = stages.time("arena", [&] {
      MemoryPlan found = plan_memory(ordered);
      validate_memory_plan(ordered, found);
      return found;
    });
    state.counters["nodes"] = static_cast<double>(ordered.trace.nodes.size());
    state.counters["waste"] = static_cast<double>(memory.transient_bytes) / static_cast<double>(memory.bound_bytes) - 1;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_rss_mb"] = static_cast<double>(usage.ru_maxrss) / 1000;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const char* const policy : {"none", "auto", "ops", "alternate", "layers:2", "full"}) {
    const std::string name = fmt::format("compile/{}", policy);
    auto* const added = benchmark::RegisterBenchmark(name.c_str(), [policy](benchmark::State& state) { compile(state, policy); });
    added->Unit(benchmark::kMillisecond)->Iterations(1);
    for (const std::int64_t layers : {12, 24, 48, 96, 192, 384}) added->Arg(layers);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
