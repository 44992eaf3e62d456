// SPDX-License-Identifier: Apache-2.0
// config.json <-> GptConfig: Hugging Face's keys for the gpt2, llama, mistral, qwen2 and gpt_neox families, LitGPT's fields, and
// our own form for structures that no family has. A key that is not known is an error: it might change the model.
#pragma once

#include <filesystem>
#include <string>

#include "io/json.h"
#include "nn/gpt_config.h"

namespace reprise {

/// Whose tensor names a folder's safetensors use: ours (litgpt and gpt2 names, as Gpt::parameters), or a family's.
enum class FolderNames : std::uint8_t { own, llama, gpt_neox };

struct FolderConfig {
  GptConfig config;
  FolderNames names = FolderNames::own;
};

/// Reads a parsed config.json; `file` is named in errors. UserError for a family or structure that is not supported yet, an
/// unknown key, a missing one, or a value out of range.
FolderConfig config_from_json(const Json& root, const std::string& file);
/// Reads `path`, or config.json in the folder `path`.
FolderConfig read_config(const std::filesystem::path& path);

struct ConfigFile {
  Json json;
  FolderNames names = FolderNames::own;
};

/// Returns the config.json of a folder that holds this model, in the keys of the first family that can express it, else in our
/// own; reading it back gives the same structure.
ConfigFile config_to_json(const GptConfig& config);

}  // namespace reprise
