// SPDX-License-Identifier: Apache-2.0
// The compiled training step: forward, loss, backward, clipping and update as one program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/array_view.h"
#include "api/function.h"
#include "api/model_function.h"
#include "api/parameters.h"
#include "optim/adamw_options.h"

namespace reprise {

struct StepState;

/// What a loss function returns: the loss, a floating scalar, and whatever else is to be read after a step. A Tensor alone is a loss.
struct Loss {
  Loss(const Tensor& loss) : value(loss) {}  // NOLINT: implicit on purpose
  Loss(const Tensor& loss, NamedTensors also) : value(loss), outputs(std::move(also)) {}

  Tensor value;
  NamedTensors outputs;
};

/// Called once, when the step is compiled.
using LossFunction = std::function<Loss(const std::vector<Tensor>& inputs)>;

struct StepOptions {
  DType dtype = DType::float32;  // of the parameters: float32, float64 or bfloat16
  std::uint64_t seed = 0;        // of initial parameters, dropout and stochastic rounding
  AdamWOptions optimizer;
  double learning_rate = 1e-3;
  std::string trainable = "*";   // globs of parameter names, comma-separated
  /// Which values backward makes again instead of keeping them; changes memory and time, no bit of a result. As `reprise train
  /// --recompute`: none, tags, auto, full, layers:N, ops[:FILE], alternate[:GLOB], regions:GLOB, file:PLAN.
  std::string recompute = "auto";
  bool accumulate = false;       // makes Step::accumulate possible, at the price of a gradient's memory for every parameter
  std::vector<FunctionSpec> functions;  // further programs on the same parameters
  ExecutionOptions execution;
};

struct StepOutcome {
  double loss = 0;
  std::optional<double> grad_norm;  // before clipping; with max_norm or log_norm
};

/// A compiled step with its parameters and optimizer state. Copies are the same step; one thread at a time may use it, and
/// different steps run side by side.
class Step {
 public:
  /// For compile_step.
  explicit Step(std::shared_ptr<StepState> state) : state_(std::move(state)) {}

  /// Computes the loss and its gradients on one array per input, and updates the parameters. UserError, with nothing changed,
  /// naming the input that does not fit.
  StepOutcome run(std::span<const ArrayView> inputs);
  StepOutcome run(std::initializer_list<ArrayView> inputs) { return run(std::span<const ArrayView>(inputs.begin(), inputs.size())); }
  /// Adds this batch's gradients to those of the next run, and returns its loss. Losses are summed: divide yours by the number of
  /// batches to get the mean. UserError unless compiled with `accumulate`.
  double accumulate(std::span<const ArrayView> inputs);
  double accumulate(std::initializer_list<ArrayView> inputs) {
    return accumulate(std::span<const ArrayView>(inputs.begin(), inputs.size()));
  }

  /// Of the next run. UserError unless finite and at least 0.
  void set_learning_rate(double rate);
  double learning_rate() const;
  /// Updates done so far.
  std::int64_t steps() const;
  /// Elements of an output of the last run: see Function::output. Also "loss".
  template <class T>
  std::span<const T> output(std::string_view name) const {
    return elements_of<const T>(output_bytes(name, dtype_of<T>()));
  }
  const std::vector<TensorSpec>& outputs() const;
  Parameters parameters() const;
  /// The program called `name` of StepOptions::functions; UserError when there is none.
  Function function(std::string_view name) const;
  /// Bytes that step and functions use at most, known before they run.
  std::int64_t predicted_peak_bytes() const;
  /// What StepOptions::recompute came to, as text: written to a file, it is the policy `file:` of the same step.
  const std::string& recompute_plan() const;

  /// Writes parameters, moments, states, counters and the seed as one safetensors file, from which `load_state` of a step of equal
  /// options goes on with equal bits, its functions too. The learning rate is the caller's. UserError between `accumulate` and `run`.
  void save_state(const std::filesystem::path& path) const;
  /// UserError, before anything is changed, when the file is of another model, or no such file.
  void load_state(const std::filesystem::path& path);

 private:
  std::span<const std::byte> output_bytes(std::string_view name, DType dtype) const;

  std::shared_ptr<StepState> state_;
};

/// Compiles a training step of `module`: `loss` of tensors of these names and types, minimised by AdamW. Parameters start at their
/// initial values. UserError for a model that does not fit together, options that contradict each other, and when the memory that
/// is needed is not there.
Step compile_step(const Module& module, const std::vector<TensorSpec>& inputs, const LossFunction& loss, const StepOptions& options = {});

}  // namespace reprise
