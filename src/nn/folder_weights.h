// SPDX-License-Identifier: Apache-2.0
// How a model folder's tensors are made of our parameters: names, and which rows in which order. One table serves reading and
// writing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/gpt_config.h"
#include "nn/model_family.h"
#include "nn/tensor_source.h"

namespace reprise {

/// Rows [first, last) of a parameter; rows as of a SourceTensor.
struct ParameterRows {
  std::string parameter;
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const ParameterRows&, const ParameterRows&) = default;
};

/// One tensor of a folder.
struct FolderTensor {
  std::string name;
  std::vector<std::string> other_names;  // that published files use too
  std::vector<std::int64_t> shape;
  std::vector<ParameterRows> rows;       // in the tensor's order
};

/// Every row of every parameter is in exactly one tensor.
struct WeightTable {
  std::vector<FolderTensor> tensors;  // in the order of the model's parameters
  std::vector<std::string> derived;   // endings of the names of tensors that hold no weights: masks and frequencies that old
                                      // files carry, or the head of a model that is tied to its embedding
  bool is_derived(std::string_view name) const;
};

/// The tensors of a folder of this family. UserError when the family has no name for one of the model's modules.
WeightTable folder_weights(const GptConfig& config, ModelFamily family);

/// The place in `source` of each of the table's tensors. UserError naming file and tensor when one is missing, unknown, of another
/// shape, or holds no floating numbers.
std::vector<std::size_t> match_weights(const TensorSource& source, const WeightTable& table);

}  // namespace reprise
