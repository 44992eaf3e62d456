// SPDX-License-Identifier: Apache-2.0
// Runs model code on a tracer: from a module and a function to a forward trace.
#pragma once

#include <vector>

#include "api/model_function.h"
#include "compiler/compile.h"
#include "nn/module.h"
#include "nn/tracer.h"

namespace reprise {

/// The outputs of `program` start with those of the function, in its order.
struct TracedModel {
  TracedProgram program;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

/// Traces `function` with all of the module's parameters declared. UserError for names that are empty, given twice, taken by a
/// parameter or by what a step adds, and for a dtype that parameters cannot have.
TracedModel trace_model(const Module& module, const FunctionSpec& function, DType dtype);

/// Machine, threads and executors. UserError for what there is not.
CompileOptions compile_options(const ExecutionOptions& execution);

}  // namespace reprise
