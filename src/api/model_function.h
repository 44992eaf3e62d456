// SPDX-License-Identifier: Apache-2.0
// A model as programs see it: a function from named, typed inputs to named tensors, and how it is to run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nn/tensor.h"

namespace reprise {

/// An input: `{"x", {DType::float32, {64, 2}}}`.
struct TensorSpec {
  std::string name;
  TensorType type;
};

/// Outputs by name.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// How programs are compiled and run. The bits of a result depend on `executors` alone.
struct ExecutionOptions {
  int threads = 0;                             // 0: all processors of the process; at most 4096
  std::string executors;                       // by name, in order of preference; empty: the default order
  std::optional<std::uint64_t> available_bytes;  // most that may be taken; nothing: what the machine and its cgroup have left
  std::filesystem::path dump;                  // every stage of the compile is written into this folder; empty: none
};

/// A program without backward: tensors to tensors.
struct FunctionSpec {
  std::string name = "function";
  std::vector<TensorSpec> inputs;
  /// Called once, when the program is compiled.
  std::function<NamedTensors(const std::vector<Tensor>& inputs)> body;
};

}  // namespace reprise
