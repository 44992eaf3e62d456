// SPDX-License-Identifier: Apache-2.0
// What MODEL names, the same in every command: a model of the table, a Hugging Face folder, a GGUF file or a folder with one, a run
// folder, or a .toml file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/gpt_config.h"
#include "options/resolved_options.h"

namespace reprise {

struct ModelSource {
  GptConfig config;
  std::optional<std::filesystem::path> folder;  // of the weights: a Hugging Face folder, a run's model/, or a GGUF file
};

/// Finds the model. A folder without weights gives shapes, as a name does. A path is one that holds a slash, ends in .toml, or exists
/// as a folder or ends in .gguf. `ignored`: as of read_config. UserError when it is nothing of the kind, with the nearest name.
ModelSource find_model(const std::string& text, std::span<const std::string> ignored = {});

/// The option ignore_config_keys; none where it is not given.
std::vector<std::string> ignored_config_keys(const ResolvedOptions& options);

/// Applies the options n_layers and block_size, where the command has them and they are given.
void apply_size_options(const ResolvedOptions& options, GptConfig& config);

/// The files of a model with weights and tokenizer: FOLDER, the model of the run FOLDER, or the GGUF file that FOLDER is or holds
/// alone. UserError when it is none of them.
std::filesystem::path find_model_folder(const std::string& text);

}  // namespace reprise
