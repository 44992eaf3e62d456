// SPDX-License-Identifier: Apache-2.0
// How a model folder's tensors are made of our parameters: names, and which rows (extents of the first dimension) in which
// order. One table serves reading and writing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/gpt_config.h"
#include "nn/gpt_config_json.h"

namespace reprise {

/// Rows [first, second) of the parameter, in the tensor's order.
using RowRange = std::pair<std::int64_t, std::int64_t>;

/// One tensor of the folder. Every row of every parameter is in exactly one tensor.
struct FolderTensor {
  std::string name;
  std::string parameter;
  std::vector<std::int64_t> shape;
  std::vector<RowRange> rows;
};

/// The folder's tensors, in the order of the model's parameters.
std::vector<FolderTensor> folder_tensors(const GptConfig& config, FolderNames names);

/// Other names that published files use for the tensor `name` ("h.0.ln_1.weight" without "transformer."; the head's name
/// for a tied matrix).
std::vector<std::string> alternative_names(const GptConfig& config, FolderNames names, std::string_view name);

/// Whether a tensor found in a file holds no weights: masks and frequencies that old files carry, or the head of a model
/// that is tied to its embedding.
bool is_derived_tensor(const GptConfig& config, FolderNames names, std::string_view name);

}  // namespace reprise
