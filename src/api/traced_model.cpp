// SPDX-License-Identifier: Apache-2.0
#include "api/traced_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/thread_pool.h"
#include "executor/executor_list.h"
#include "ops/builders.h"
#include "passes/rng.h"

namespace reprise {
namespace {

/// Inputs that a step adds to those of the model.
constexpr std::string_view kStepInputs[] = {"lr", "step", "rounding_seed", kSeedInput, kOffsetInput};

class Names {
 public:
  void add(const std::string& name, std::string_view what) {
    if (name.empty()) throw UserError(fmt::format("{} needs a name", what));
    if (std::find(std::begin(kStepInputs), std::end(kStepInputs), name) != std::end(kStepInputs)) {
      throw UserError(fmt::format("{} has a name that a step uses itself; choose another: {}", what, name));
    }
    if (!taken_.insert(name).second) throw UserError(fmt::format("{} has a name that is taken; choose another: {}", what, name));
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace

TracedModel trace_model(const Module& module, const FunctionSpec& function, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64 && dtype != DType::bfloat16) {
    throw UserError(fmt::format("parameters are float32, float64 or bfloat16, not {}", dtype_name(dtype)));
  }
  if (!function.body) throw UserError(fmt::format("a function needs a body: {}", function.name));
  TracedModel traced;
  traced.inputs = function.inputs;
  Tracer tracer(function.name, dtype);
  Names names;
  for (const NamedParameter& parameter : module.parameters()) names.add(parameter.name, "a parameter");
  tracer.declare(module);
  std::vector<Tensor> inputs;
  for (const TensorSpec& input : function.inputs) {
    names.add(input.name, fmt::format("an input of {}", function.name));
    inputs.push_back(tracer.input(input.name, input.type, Role::batch));
  }
  Names outputs;
  for (const auto& [name, value] : function.body(inputs)) {
    outputs.add(name, fmt::format("an output of {}", function.name));
    if (!value.valid() || &value.tracer() != &tracer) {
      throw UserError(fmt::format("an output of {} is no tensor of this trace; compute it from the inputs: {}", function.name, name));
    }
    const std::vector<ValueId>& before = tracer.trace().outputs;
    const bool own = tracer.trace()[value.id()].producer.valid() && std::find(before.begin(), before.end(), value.id()) == before.end();
    const Tensor output = own ? value : Tensor(tracer, ops::copy(tracer.builder(), value.id()));
    traced.outputs.push_back({name, output.type()});
    tracer.output(tracer.named(output, name));
  }
  if (traced.outputs.empty()) throw UserError(fmt::format("a function must return something: {}", function.name));
  traced.program = std::move(tracer).finish();
  if (traced.program.parameters.size() != module.parameters().size()) {
    throw UserError(fmt::format("{} uses a parameter that the module given does not have, registered under another: {}", function.name,
                                traced.program.parameters.back().name));
  }
  return traced;
}

CompileOptions compile_options(const ExecutionOptions& execution) {
  if (execution.threads < 0) throw UserError(fmt::format("threads cannot be negative; 0 is all processors: {}", execution.threads));
  if (execution.threads > kMostThreads) throw UserError(fmt::format("threads must be at most {}, not {}", kMostThreads, execution.threads));
  const std::string_view executors = execution.executors.empty() ? kDefaultExecutors : execution.executors;
  CompileOptions compile = host_options(make_executor_list(executors), execution.threads);
  compile.dump = execution.dump;
  return compile;
}

}  // namespace reprise
