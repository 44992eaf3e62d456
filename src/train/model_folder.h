// SPDX-License-Identifier: Apache-2.0
// A model as a Hugging Face folder: config.json, model.safetensors under the family's tensor names, tokenizer.json.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "nn/gpt_config_json.h"
#include "tokenizer/tokenizer.h"
#include "train/checkpoint.h"

namespace reprise {

/// Writes the folder, replacing what is at `path` in one step. `parameters` are under our names; `tokenizer` may be
/// null: none.
void save_model_folder(const std::filesystem::path& path, const GptConfig& config, std::span<const TensorSlot> parameters,
                       const Tokenizer* tokenizer);

/// Reads the weights of a folder into the slots, row by row from the mapped file, converting between floating dtypes.
/// UserError naming file and tensor when one is missing, unknown, of another shape or no floating dtype, or holds a value
/// that is NaN or infinite.
void load_model_weights(const std::filesystem::path& folder, const FolderConfig& model, std::span<const TensorSlot> parameters);

}  // namespace reprise
