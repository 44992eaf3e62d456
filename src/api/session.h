// SPDX-License-Identifier: Apache-2.0
// What the handles of a program share: the engine, and what it was made from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/array_view.h"
#include "api/traced_model.h"
#include "executor/engine.h"
#include "train/checkpoint.h"

namespace reprise {

struct Session {
  std::unique_ptr<Engine> engine;
  std::vector<NamedParameter> parameters;
  std::vector<StepParameter> trained;  // with their companions; empty without a step
  DType dtype = DType::float32;
  std::uint64_t seed = 0;
};

/// Makes the engine of these programs, with the parameters and states of `models`, at their initial values.
std::shared_ptr<Session> start_session(std::vector<CompiledTrace> programs, std::span<const TracedModel* const> models,
                                       std::vector<StepParameter> trained, DType dtype, std::uint64_t seed,
                                       const ExecutionOptions& execution, const CompileOptions& compile);

/// One program of a session: inputs in, outputs by name.
class ProgramHandle {
 public:
  ProgramHandle(std::shared_ptr<Session> session, const std::string& name, const TracedModel& model);

  /// Copies arrays in, one per declared input, and numbers the draws from word `draws` on. UserError naming the input when count,
  /// dtype or size do not fit.
  void feed(std::span<const ArrayView> arrays, std::int64_t draws);
  Program& program() const { return *program_; }
  const std::vector<TensorSpec>& outputs() const { return outputs_; }
  /// UserError when there is no output of this name and dtype.
  std::span<const std::byte> output(std::string_view name, DType dtype) const;

 private:
  std::shared_ptr<Session> session_;
  Program* program_;
  std::vector<TensorSpec> inputs_;
  std::vector<std::size_t> input_index_;
  std::vector<TensorSpec> outputs_;
};

}  // namespace reprise
