// SPDX-License-Identifier: Apache-2.0
// Runs a model's traces through the interpreter on named values: forward, gradients and whole AdamW steps.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "nn/folder_weights.h"
#include "nn/gpt_trace.h"

namespace reprise::test {

/// Values by the name of the trace input they are for.
using NamedValues = std::map<std::string, HostTensor>;

/// Runs a trace on the values its inputs are named after; a missing one is an error.
std::vector<HostTensor> run_named(const Trace& trace, const NamedValues& values);

/// Gives the outputs of a run back to the inputs whose storage they take over.
void carry_donations(const Trace& trace, const std::vector<HostTensor>& outputs, NamedValues& values);

/// Numbers by parameter name.
using NamedNumbers = std::map<std::string, std::vector<double>>;

/// A model's parameters out of a folder's tensors.
NamedNumbers read_parameters(const TensorSource& source, const WeightTable& table);

/// A program's parameters, `weights` rounded to `dtype`, and its tables.
NamedValues persistent_values(const TracedProgram& program, const NamedNumbers& weights, DType dtype);

/// One batch.
struct Batch {
  std::int64_t rows = 1;
  std::int64_t length = 1;
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> targets;
  /// Targets that are not ignored.
  std::int64_t kept() const;
};

/// What a training run of three steps on one batch gives.
struct ModelFigures {
  std::vector<double> logits;        // before the first step: [rows, length, padded vocabulary]
  NamedNumbers gradients;            // of the first loss, not clipped
  std::vector<double> step_losses;   // before each step, and after the last
  std::vector<double> grad_norms;    // of each step, not clipped
  NamedNumbers deltas;               // weights after three steps minus before
};

/// Trains `config` for three steps as the reference values were: clipping to 1, AdamW with lr 1e-3, betas (0.9, 0.95), eps
/// 1e-8, decay 0.1 on what has two or more dimensions. `weights`: by parameter name, exact in float32.
ModelFigures train_three_steps(const GptConfig& config, DType dtype, const NamedNumbers& weights, const Batch& batch);

/// The gradient of a folder's tensor, gathered from those of our parameters; empty for one that is not trained.
std::vector<double> folder_gradient(const ModelFigures& figures, const FolderTensor& tensor);

}  // namespace reprise::test
