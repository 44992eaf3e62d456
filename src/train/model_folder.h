// SPDX-License-Identifier: Apache-2.0
// A model as a Hugging Face folder: config.json, weights under the family's tensor names in one safetensors file or several with an
// index, tokenizer and defaults of generation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nn/folder_weights.h"
#include "nn/gpt_config_json.h"
#include "tokenizer/tokenizer.h"
#include "train/checkpoint.h"
#include "train/folder_layout.h"
#include "train/parameter_source.h"

namespace reprise {

/// How to write a folder.
struct ModelFolderOptions {
  const FolderLayout* origin = nullptr;          // the folder that the weights came from: its family, configuration, names, types,
                                                 // shards and companion files are kept
  const Tokenizer* tokenizer = nullptr;          // written; null: the origin's files are copied, if there is one
  std::optional<DType> dtype;                    // of all tensors; else as in the origin, else as the parameters
  std::optional<std::uint64_t> max_shard_bytes;  // of a file; a larger tensor has a file of its own. Else as in the origin, else one file
};

/// Writes the folder, replacing what is at `path` in one step. `parameters` are under our names. UserError when a value does not fit
/// its type in the file.
void save_model_folder(const std::filesystem::path& path, const GptConfig& config, const ParameterSource& parameters,
                       const ModelFolderOptions& options = {});

/// Most elements of a mapped file that loading leaves in memory before it gives them back to the system.
inline constexpr std::int64_t kMostHeldElements = 1 << 20;

/// Reads weights into the slots, row by row from the mapped files, converting between floating dtypes. UserError as match_weights, and
/// for a value that is NaN or infinite.
void load_weights(const TensorSource& source, const WeightTable& table, std::span<const TensorSlot> parameters);
/// The same of a folder's files, or of a GGUF file.
void load_model_weights(const std::filesystem::path& files, const FolderConfig& model, std::span<const TensorSlot> parameters);

}  // namespace reprise
