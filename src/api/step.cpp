// SPDX-License-Identifier: Apache-2.0
#include "api/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "api/function_state.h"
#include "api/session.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nearest.h"
#include "recompute/read_policy.h"
#include "train/checkpoint.h"

namespace reprise {
namespace {

constexpr std::string_view kStateFormat = "1";
constexpr std::string_view kFormatKey = "reprise_step_state";
constexpr std::string_view kStepsKey = "steps";
constexpr std::string_view kDrawsKey = "draws";
constexpr std::string_view kSeedKey = "seed";

void check_optimizer(const AdamWOptions& adamw, DType dtype) {
  const auto require = [](bool holds, std::string_view what, double value) {
    if (!holds) throw UserError(fmt::format("{}, not {}", what, value));
  };
  require(adamw.beta1 >= 0 && adamw.beta1 < 1, "beta1 must be at least 0 and below 1", adamw.beta1);
  require(adamw.beta2 >= 0 && adamw.beta2 < 1, "beta2 must be at least 0 and below 1", adamw.beta2);
  require(adamw.eps > 0 && std::isfinite(adamw.eps), "eps must be above 0", adamw.eps);
  require(adamw.weight_decay >= 0 && std::isfinite(adamw.weight_decay), "weight_decay cannot be negative", adamw.weight_decay);
  require(adamw.max_norm >= 0 && std::isfinite(adamw.max_norm), "max_norm cannot be negative; 0 is no clipping", adamw.max_norm);
  if (adamw.master_weights && dtype != DType::bfloat16) {
    throw UserError(fmt::format("master_weights acts only with bfloat16 parameters, not {}", dtype_name(dtype)));
  }
  if (adamw.rounding == Rounding::stochastic && (dtype != DType::bfloat16 || adamw.master_weights)) {
    throw UserError("stochastic rounding acts only with bfloat16 parameters without master_weights");
  }
}

double checked_rate(double rate) {
  if (!(rate >= 0) || !std::isfinite(rate)) throw UserError(fmt::format("a learning rate is finite and at least 0, not {}", rate));
  return rate;
}

void check_function_names(const std::vector<FunctionSpec>& functions) {
  std::set<std::string> taken = {"step", "accumulate"};
  for (const FunctionSpec& function : functions) {
    if (!taken.insert(function.name).second) {
      throw UserError(fmt::format("a function needs a name of its own; choose another: {}", function.name));
    }
  }
}

std::optional<std::string_view> find_string(const SafetensorsMetadata& strings, std::string_view key) {
  const auto found = std::find_if(strings.begin(), strings.end(), [&](const auto& one) { return one.first == key; });
  return found == strings.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

template <class Integer>
Integer counter(const SafetensorsMetadata& strings, std::string_view key, const std::filesystem::path& path) {
  const std::string_view text = find_string(strings, key).value_or("");
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  throw UserError(fmt::format("{}: the counter '{}' is missing or no number; was the file written by save_state?", path.string(), key));
}

std::string draws_key(std::string_view function) { return fmt::format("{}.{}", kDrawsKey, function); }

void check_format(const SafetensorsMetadata& strings, const std::filesystem::path& path) {
  const std::optional<std::string_view> found = find_string(strings, kFormatKey);
  if (!found) throw UserError(fmt::format("{}: no state of a step; Parameters::load reads weights alone", path.string()));
  if (*found != kStateFormat) {
    throw UserError(
        fmt::format("{}: step state of format {}, known is {}; use the reprise that wrote it", path.string(), *found, kStateFormat));
  }
}

}  // namespace

struct StepState {
  std::shared_ptr<Session> session;
  ProgramHandle step;
  std::optional<ProgramHandle> accumulation;
  std::vector<std::pair<std::string, std::shared_ptr<FunctionState>>> functions;
  std::optional<std::size_t> norm_output;
  std::string recompute_plan;
  std::int64_t words = 0;  // that one batch draws
  double learning_rate = 0;
  std::int64_t steps = 0;
  std::int64_t draws = 0;    // words drawn so far
  std::int64_t pending = 0;  // batches accumulated since the last run

  std::vector<TensorSlot> slots() const {
    std::vector<TensorSlot> all;
    for (const Slot& slot : session->engine->slots()) {
      const auto accumulates = [&](const StepParameter& parameter) { return parameter.accumulator == slot.name; };
      if (std::any_of(session->trained.begin(), session->trained.end(), accumulates)) continue;  // zero between steps
      all.push_back({slot.name, slot.type.dtype, slot.type.shape.extents(), session->engine->bytes(slot.name)});
    }
    return all;
  }
};

Step compile_step(const Module& module, const std::vector<TensorSpec>& inputs, const LossFunction& loss, const StepOptions& options) {
  if (!loss) throw UserError("a step needs a loss function");
  check_optimizer(options.optimizer, options.dtype);
  const double learning_rate = checked_rate(options.learning_rate);
  check_function_names(options.functions);
  CompileOptions compile = compile_options(options.execution);
  compile.recompute = read_recompute_options(options.recompute);
  FunctionSpec forward{"forward", inputs, [&loss](const std::vector<Tensor>& tensors) {
                         Loss result = loss(tensors);
                         NamedTensors outputs = {{"loss", result.value}};
                         outputs.insert(outputs.end(), result.outputs.begin(), result.outputs.end());
                         return outputs;
                       }};
  const TracedModel traced = trace_model(module, forward, options.dtype);
  TrainingRequest request;
  request.forward = traced.program.trace;
  request.trainable = options.trainable;
  request.adamw = options.optimizer;
  request.accumulate = options.accumulate;
  CompiledTraining training = compile_training(request, compile);
  for (const std::string& warning : training.warnings) log_warning(warning);

  std::vector<CompiledTrace> programs = {std::move(training.step)};
  if (training.accumulate) programs.push_back(std::move(*training.accumulate));
  std::vector<TracedModel> functions;
  std::vector<std::int64_t> words;
  for (const FunctionSpec& function : options.functions) {
    functions.push_back(trace_model(module, function, options.dtype));
    const PureForward pure = make_pure(functions.back().program.trace, compile);
    programs.push_back(compile_trace(pure.trace, compile));
    words.push_back(pure.random_words);
  }
  std::vector<const TracedModel*> models = {&traced};
  for (const TracedModel& function : functions) models.push_back(&function);
  const auto session =
      start_session(std::move(programs), models, std::move(training.parameters), options.dtype, options.seed, options.execution, compile);

  auto state = std::make_shared<StepState>(StepState{session, ProgramHandle(session, "step", traced), {}, {}, {}, {}});
  if (options.accumulate) state->accumulation.emplace(session, "accumulate", traced);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const std::string& name = options.functions[i].name;
    state->functions.emplace_back(
        name, std::make_shared<FunctionState>(FunctionState{session, ProgramHandle(session, name, functions[i]), words[i], 0}));
  }
  if (training.has_grad_norm) state->norm_output = training.forward_outputs;
  state->recompute_plan = plans_text(training.recompute);
  state->words = training.random_words;
  state->learning_rate = learning_rate;
  return Step(std::move(state));
}

StepOutcome Step::run(std::span<const ArrayView> inputs) {
  StepState& state = *state_;
  state.step.feed(inputs, state.draws);
  Program& program = state.step.program();
  if (const auto rate = program.find_input("lr")) program.set_floating(*rate, state.learning_rate);
  if (const auto count = program.find_input("step")) program.set_scalar(*count, state.steps + 1);
  if (const auto seed = program.find_input("rounding_seed")) program.set_scalar(*seed, static_cast<std::int64_t>(state.session->seed));
  program.run();
  state.draws += state.words;
  state.steps += 1;
  state.pending = 0;
  StepOutcome outcome;
  outcome.loss = program.floating_output(0);
  if (state.norm_output) outcome.grad_norm = program.floating_output(*state.norm_output);
  return outcome;
}

double Step::accumulate(std::span<const ArrayView> inputs) {
  StepState& state = *state_;
  if (!state.accumulation) throw UserError("the step was compiled without accumulation; set StepOptions::accumulate");
  state.accumulation->feed(inputs, state.draws);
  state.accumulation->program().run();
  state.draws += state.words;
  state.pending += 1;
  return state.accumulation->program().floating_output(0);
}

void Step::set_learning_rate(double rate) { state_->learning_rate = checked_rate(rate); }

double Step::learning_rate() const { return state_->learning_rate; }

std::int64_t Step::steps() const { return state_->steps; }

std::span<const std::byte> Step::output_bytes(std::string_view name, DType dtype) const { return state_->step.output(name, dtype); }

const std::vector<TensorSpec>& Step::outputs() const { return state_->step.outputs(); }

Parameters Step::parameters() const { return Parameters(state_->session); }

Function Step::function(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& [own, state] : state_->functions) {
    if (own == name) return Function(state);
    names.push_back(own);
  }
  throw UserError(fmt::format("the step has no function '{}'{}", name, nearest_hint(name, names)));
}

std::int64_t Step::predicted_peak_bytes() const { return state_->session->engine->predicted_peak_bytes(); }

const std::string& Step::recompute_plan() const { return state_->recompute_plan; }

void Step::save_state(const std::filesystem::path& path) const {
  if (state_->pending > 0) {
    throw UserError(
        fmt::format("a state cannot be saved between accumulate and run; run the step first: {} batches wait", state_->pending));
  }
  SafetensorsMetadata strings = {{std::string(kFormatKey), std::string(kStateFormat)},
                                 {std::string(kStepsKey), fmt::format("{}", state_->steps)},
                                 {std::string(kSeedKey), fmt::format("{}", state_->session->seed)},
                                 {std::string(kDrawsKey), fmt::format("{}", state_->draws)}};
  for (const auto& [name, function] : state_->functions) strings.emplace_back(draws_key(name), fmt::format("{}", function->draws));
  save_weights(path, state_->slots(), strings);
}

void Step::load_state(const std::filesystem::path& path) {
  const SafetensorsMetadata strings = SafetensorsFile::open(path).metadata();
  check_format(strings, path);
  const auto steps = counter<std::int64_t>(strings, kStepsKey, path);
  const auto draws = counter<std::int64_t>(strings, kDrawsKey, path);
  const auto seed = counter<std::uint64_t>(strings, kSeedKey, path);
  std::vector<std::int64_t> function_draws;
  for (const auto& [name, function] : state_->functions) {
    const std::string key = draws_key(name);
    function_draws.push_back(find_string(strings, key) ? counter<std::int64_t>(strings, key, path) : 0);  // 0: it is new
  }
  load_weights(path, state_->slots());
  for (const StepParameter& parameter : state_->session->trained) {
    if (parameter.accumulator.empty()) continue;
    const std::span<std::byte> bytes = state_->session->engine->bytes(parameter.accumulator);
    std::fill(bytes.begin(), bytes.end(), std::byte{});
  }
  for (std::size_t i = 0; i < function_draws.size(); ++i) state_->functions[i].second->draws = function_draws[i];
  state_->session->seed = seed;
  state_->steps = steps;
  state_->draws = draws;
  state_->pending = 0;
}

}  // namespace reprise
