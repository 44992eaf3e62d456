// SPDX-License-Identifier: Apache-2.0
// config.json <-> GptConfig: the keys of Hugging Face's families (family_config.h), LitGPT's fields, and our own form for structures
// that no family has. A key that is not known is an error: it might change the model.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "io/json.h"
#include "nn/gpt_config.h"
#include "nn/model_family.h"

namespace reprise {

struct FolderConfig {
  GptConfig config;
  ModelFamily family = ModelFamily::own;  // whose tensor names the folder's files use
};

/// Reads a parsed config.json; `file` is named in errors. `ignored`: unknown keys that may be there; a warning for one that is not.
/// UserError for a family or structure that is not supported, an unknown key, a missing one, or a value out of range.
FolderConfig config_from_json(const Json& root, const std::string& file, std::span<const std::string> ignored = {});
/// Reads `path`, or config.json in the folder `path`; of a GGUF file the metadata (gguf_model.h), which name no family.
FolderConfig read_config(const std::filesystem::path& path, std::span<const std::string> ignored = {});

struct ConfigFile {
  Json json;
  ModelFamily family = ModelFamily::own;
};

/// Returns the config.json of a folder that holds this model: in the keys of `preferred` if that family can express it, else of the
/// family that the model's name hints at, else of the first one that can, else in our own. Reading it back gives the same structure
/// (a condense ratio of positions that is a power of two reads back as a linear scaling, which gives the same tables).
ConfigFile config_to_json(const GptConfig& config, std::optional<ModelFamily> preferred = {});

}  // namespace reprise
