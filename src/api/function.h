// SPDX-License-Identifier: Apache-2.0
// Programs without backward: inference, evaluation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "api/array_view.h"
#include "api/model_function.h"
#include "api/parameters.h"

namespace reprise {

class Module;
struct FunctionState;

struct FunctionOptions {
  DType dtype = DType::float32;  // of the parameters: float32, float64 or bfloat16
  std::uint64_t seed = 0;        // of initial parameters and of draws
  ExecutionOptions execution;
};

/// A compiled function. Copies are the same program; one thread at a time may run the programs of a step or function, and
/// different steps and functions run side by side.
class Function {
 public:
  /// For compile_function and Step.
  explicit Function(std::shared_ptr<FunctionState> state) : state_(std::move(state)) {}

  /// Runs on one array per input, in the order they were declared. UserError naming the input that does not fit.
  void run(std::span<const ArrayView> inputs);
  void run(std::initializer_list<ArrayView> inputs) { run(std::span<const ArrayView>(inputs.begin(), inputs.size())); }

  /// Elements of an output of the last run, row-major, valid until a program that shares the memory runs or is fed. UserError when
  /// there is none of this name, or T is not its dtype.
  template <class T>
  std::span<const T> output(std::string_view name) const {
    return elements_of<const T>(output_bytes(name, dtype_of<T>()));
  }
  /// Names and types of the outputs.
  const std::vector<TensorSpec>& outputs() const;
  Parameters parameters() const;
  /// Bytes that the programs sharing this memory use at most, known before they run.
  std::int64_t predicted_peak_bytes() const;

 private:
  std::span<const std::byte> output_bytes(std::string_view name, DType dtype) const;

  std::shared_ptr<FunctionState> state_;
};

/// Compiles `function` of the module's parameters, which start at their initial values. UserError for a model that does not fit
/// together, and when the memory that is needed is not there.
Function compile_function(const Module& module, const FunctionSpec& function, const FunctionOptions& options = {});

}  // namespace reprise
