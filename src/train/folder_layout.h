// SPDX-License-Identifier: Apache-2.0
// How a Hugging Face folder is laid out beyond its model: what was read of it is written back the same way.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "nn/gpt_config_json.h"

namespace reprise {

struct FolderLayout {
  /// A tensor under the name that the family's table gives it.
  struct Stored {
    std::string name;  // in the file, which may be another
    DType dtype = DType::float32;
    std::string shard;
  };

  std::filesystem::path folder;
  FolderConfig model;
  Json config;                       // config.json as it is
  std::vector<std::string> ignored;  // keys of it that were to be ignored
  std::unordered_map<std::string, Stored> tensors;
  bool sharded = false;
  SafetensorsMetadata metadata;
};

/// Reads the layout of a folder with weights. UserError as read_config, SafetensorsSource and match_weights.
FolderLayout read_layout(const std::filesystem::path& folder, std::span<const std::string> ignored = {});

/// Copies the files that go with a model: defaults of generation, and with `tokenizer` those of its tokenizer.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to, bool tokenizer);

}  // namespace reprise
