// SPDX-License-Identifier: Apache-2.0
#include "api/session.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/nearest.h"
#include "passes/rng.h"
#include "train/gpt_programs.h"

namespace reprise {

std::shared_ptr<Session> start_session(std::vector<CompiledTrace> programs, std::span<const TracedModel* const> models,
                                       std::vector<StepParameter> trained, DType dtype, std::uint64_t seed,
                                       const ExecutionOptions& execution, const CompileOptions& compile) {
  EngineOptions options = engine_options(compile, "the programs of the model");
  options.available_bytes = execution.available_bytes;
  auto session = std::make_shared<Session>();
  session->engine = std::make_unique<Engine>(std::move(programs), std::move(options));
  session->parameters = models.front()->program.parameters;
  session->trained = std::move(trained);
  session->dtype = dtype;
  session->seed = seed;
  Engine& engine = *session->engine;
  for (const NamedParameter& parameter : session->parameters) initialize(parameter, seed, dtype, engine.bytes(parameter.name));
  for (const TracedModel* const model : models) {
    for (const InitialState& state : model->program.state) copy_bytes(engine.bytes(state.name), state.bytes);
  }
  reset_masters(session->trained, engine);
  return session;
}

ProgramHandle::ProgramHandle(std::shared_ptr<Session> session, const std::string& name, const TracedModel& model)
    : session_(std::move(session)), program_(&session_->engine->program(name)), inputs_(model.inputs), outputs_(model.outputs) {
  for (const TensorSpec& input : inputs_) input_index_.push_back(program_->input_index(input.name));
}

void ProgramHandle::feed(std::span<const ArrayView> arrays, std::int64_t draws) {
  if (arrays.size() != inputs_.size()) {
    throw UserError(fmt::format("{} takes {} inputs, given {}", program_->name(), inputs_.size(), arrays.size()));
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const TensorType& type = inputs_[i].type;
    if (arrays[i].dtype() == type.dtype && static_cast<std::int64_t>(arrays[i].bytes().size()) == type.bytes()) continue;
    throw UserError(fmt::format("input '{}' of {} is {}, {} elements; given {} of {}", inputs_[i].name, program_->name(), type.str(),
                                type.shape.numel(), arrays[i].size(), dtype_name(arrays[i].dtype())));
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) program_->set_input(input_index_[i], arrays[i].bytes());
  if (const auto seed = program_->find_input(kSeedInput)) program_->set_scalar(*seed, static_cast<std::int64_t>(session_->seed));
  if (const auto offset = program_->find_input(kOffsetInput)) program_->set_scalar(*offset, draws);
}

std::span<const std::byte> ProgramHandle::output(std::string_view name, DType dtype) const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    names.push_back(outputs_[i].name);
    if (outputs_[i].name != name) continue;
    if (outputs_[i].type.dtype != dtype) {
      throw UserError(
          fmt::format("output '{}' of {} is {}, read as {}", name, program_->name(), outputs_[i].type.str(), dtype_name(dtype)));
    }
    return program_->output(i);
  }
  throw UserError(fmt::format("{} has no output '{}'{}", program_->name(), name, nearest_hint(name, names)));
}

}  // namespace reprise
