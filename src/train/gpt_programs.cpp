// SPDX-License-Identifier: Apache-2.0
#include "train/gpt_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "nn/gpt.h"
#include "nn/gpt_trace.h"

namespace reprise {
namespace {

GptTraceOptions trace_options(const GptProgramOptions& options) {
  GptTraceOptions trace;
  trace.batch = options.micro_batch_size;
  trace.length = options.block_size;
  trace.dtype = options.dtype;
  trace.packed = options.packed;
  trace.table_rows = std::max(options.block_size, options.cache_length);
  return trace;
}

/// Names of the states that hold keys and values: what decode reads besides parameters and tables.
std::vector<std::string> cache_names(const Trace& decode) {
  std::vector<std::string> names;
  for (const TraceInput& input : decode.inputs) {
    const std::string& name = decode[input.value].name;
    if (input.role == Role::state && name.starts_with("cache.")) names.push_back(name);
  }
  return names;
}

/// Keeps what all programs share: parameters and tables are the same in each.
void keep_shared(GptPrograms& programs, TracedProgram& traced) {
  if (programs.parameters.empty()) programs.parameters = std::move(traced.parameters);
  if (programs.tables.empty()) programs.tables = std::move(traced.state);
}

TensorSlot slot(Engine& engine, const std::string& name) {
  const Slot* const found = engine.find_slot(name);
  REPRISE_CHECK(found != nullptr, "the engine has no slot " + name);
  return {name, found->type.dtype, found->type.shape.extents(), engine.bytes(name)};
}

}  // namespace

std::vector<CompiledTrace> GptPrograms::list() const {
  std::vector<CompiledTrace> all;
  if (training) {
    all.push_back(training->step);
    if (training->accumulate) all.push_back(*training->accumulate);
  }
  for (const auto* program : {&eval, &prefill, &decode}) {
    if (*program) all.push_back(**program);
  }
  return all;
}

GptTraining trace_gpt_training(const GptProgramOptions& options) {
  TracedProgram traced = trace_forward_loss(options.config, trace_options(options));
  GptTraining training{std::move(traced.parameters), std::move(traced.state), {}};
  training.request.forward = std::move(traced.trace);
  training.request.trainable = options.trainable;
  training.request.adamw = options.adamw;
  training.request.accumulate = options.micro_steps > 1;
  return training;
}

GptPrograms compile_gpt(const GptProgramOptions& options, const CompileOptions& compile) {
  GptPrograms programs;
  programs.dtype = options.dtype;
  if (options.train) {
    GptTraining training = trace_gpt_training(options);
    programs.training = compile_training(training.request, compile);
    programs.parameters = std::move(training.parameters);
    programs.tables = std::move(training.tables);
  }
  if (options.evaluate) {
    GptTraceOptions with_losses = trace_options(options);
    with_losses.token_losses = options.token_losses;
    TracedProgram traced = trace_eval(options.config, with_losses);
    programs.eval = compile_trace(make_pure(traced.trace, compile).trace, compile);
    keep_shared(programs, traced);
  }
  if (options.generate) {
    GptTraceOptions one = trace_options(options);
    one.batch = 1;
    one.training = false;
    one.length = options.prefill_length;
    TracedProgram prefill = trace_prefill(options.config, one, options.cache_length);
    TracedProgram decode = trace_decode(options.config, one, options.cache_length);
    const std::vector<std::string> caches = cache_names(decode.trace);
    programs.prefill = compile_trace(make_pure(prefill.trace, compile).trace, compile, caches);
    programs.decode = compile_trace(make_pure(decode.trace, compile).trace, compile, caches);
    keep_shared(programs, prefill);
  }
  return programs;
}

std::int64_t least_bytes(const GptProgramOptions& options) {
  const std::int64_t parameters = parameter_count(options.config);
  const auto width = static_cast<std::int64_t>(dtype_size(options.dtype));
  if (!options.train || options.trainable != "*") return parameters * width;
  const bool masters = options.adamw.master_weights;
  return parameters * (width + 2 * (masters ? 4 : width) + (masters ? 4 : 0));  // the moments are as wide as what is updated
}

bool programs_fit(const GptProgramOptions& options, CompileOptions compile, std::uint64_t available) {
  compile.dump.clear();
  try {
    if (static_cast<std::uint64_t>(least_bytes(options)) > available) return false;
    return static_cast<std::uint64_t>(lay_out_engine(compile_gpt(options, compile).list()).peak_bytes()) <= available;
  } catch (const SizeError&) {
    return false;
  }
}

void load_tables(const GptPrograms& programs, Engine& engine) {
  for (const InitialState& table : programs.tables) {
    const std::span<std::byte> bytes = engine.bytes(table.name);
    REPRISE_CHECK(bytes.size() == table.bytes.size(), "a table of another size: " + table.name);
    copy_bytes(bytes, table.bytes);
  }
}

void initialize_weights(const GptPrograms& programs, std::uint64_t seed, Engine& engine) {
  for (const NamedParameter& parameter : programs.parameters) initialize(parameter, seed, programs.dtype, engine.bytes(parameter.name));
  reset_optimizer(programs, engine);
}

void reset_optimizer(const GptPrograms& programs, Engine& engine) {
  for (const TensorSlot& state : optimizer_slots(programs, engine)) std::fill(state.bytes.begin(), state.bytes.end(), std::byte{});
  if (programs.training) reset_masters(programs.training->parameters, engine);
}

void reset_masters(std::span<const StepParameter> parameters, Engine& engine) {
  for (const StepParameter& parameter : parameters) {
    if (parameter.master.empty()) continue;
    const std::span<const bfloat16> narrow = engine.values<bfloat16>(parameter.name);
    const std::span<float> wide = engine.values<float>(parameter.master);
    std::transform(narrow.begin(), narrow.end(), wide.begin(), [](bfloat16 x) { return to_float(x); });
  }
}

std::vector<TensorSlot> parameter_slots(const GptPrograms& programs, Engine& engine) {
  std::vector<TensorSlot> slots;
  for (const NamedParameter& parameter : programs.parameters) slots.push_back(slot(engine, parameter.name));
  return slots;
}

std::vector<TensorSlot> optimizer_slots(const GptPrograms& programs, Engine& engine) {
  std::vector<TensorSlot> slots;
  if (!programs.training) return slots;
  for (const StepParameter& parameter : programs.training->parameters) {
    slots.push_back(slot(engine, parameter.first_moment));
    slots.push_back(slot(engine, parameter.second_moment));
    if (!parameter.master.empty()) slots.push_back(slot(engine, parameter.master));
  }
  return slots;
}

}  // namespace reprise
