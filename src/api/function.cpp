// SPDX-License-Identifier: Apache-2.0
#include "api/function.h"

#include "api/function_state.h"

namespace reprise {

void Function::run(std::span<const ArrayView> inputs) {
  state_->program.feed(inputs, state_->draws);
  state_->program.program().run();
  state_->draws += state_->words;
}

std::span<const std::byte> Function::output_bytes(std::string_view name, DType dtype) const { return state_->program.output(name, dtype); }

const std::vector<TensorSpec>& Function::outputs() const { return state_->program.outputs(); }

Parameters Function::parameters() const { return Parameters(state_->session); }

std::int64_t Function::predicted_peak_bytes() const { return state_->session->engine->predicted_peak_bytes(); }

Function compile_function(const Module& module, const FunctionSpec& function, const FunctionOptions& options) {
  const CompileOptions compile = compile_options(options.execution);
  const TracedModel traced = trace_model(module, function, options.dtype);
  const PureForward pure = make_pure(traced.program.trace, compile);
  const TracedModel* const models[] = {&traced};
  std::shared_ptr<Session> session =
      start_session({compile_trace(pure.trace, compile)}, models, {}, options.dtype, options.seed, options.execution, compile);
  ProgramHandle program(session, function.name, traced);
  return Function(std::make_shared<FunctionState>(FunctionState{std::move(session), std::move(program), pure.random_words, 0}));
}

}  // namespace reprise
