// SPDX-License-Identifier: Apache-2.0
// Writes the self-made Hugging Face folders of reference/figures_folders.h, in one file or several and in any floating type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/safetensors.h"
#include "nn/folder_weights.h"
#include "nn/gpt_config_json.h"
#include "nn/weight_conversion.h"
#include "reference/figures_folders.h"
#include "support/temporary_directory.h"

namespace reprise::test {

inline std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Draw `i` of splitmix64 (Steele, Lea and Flood, 2014), counted from 1.
inline std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + i * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// The values of the tensor `name`.
inline std::vector<float> drawn_weights(std::string_view name, const std::vector<std::int64_t>& shape) {
  const std::uint64_t seed = fnv1a(name);
  const SourceTensor form{"", "", {}, shape};
  std::vector<float> values;
  for (std::int64_t i = 0; i < form.rows() * form.width(); ++i) {
    const auto bits = static_cast<float>(splitmix64(seed, static_cast<std::uint64_t>(i) + 1) >> 48);
    values.push_back(bits / 65536 - 0.5F + (shape.size() == 1 ? 0.75F : 0));
  }
  return values;
}

/// Writes config.json and the weights into the folder `path`, which exists. With two shards or more there is an index.
inline void put_figure_folder(const std::filesystem::path& path, const FolderFigure& figure, DType dtype, std::size_t shards) {
  put_file(path / "config.json", figure.config);
  const FolderConfig model = read_config(path);
  const WeightTable table = folder_weights(model.config, model.family);
  std::vector<std::vector<const FolderTensor*>> content(shards);
  for (std::size_t i = 0; i < table.tensors.size(); ++i) content[i % shards].push_back(&table.tensors[i]);
  std::string map;
  for (std::size_t s = 0; s < shards; ++s) {
    const std::string file = shards == 1 ? "model.safetensors" : "part-" + std::to_string(s) + ".safetensors";
    std::vector<SafetensorsPlan> plan;
    for (const FolderTensor* tensor : content[s]) {
      plan.push_back({tensor->name, dtype, tensor->shape});
      map += (map.empty() ? "\"" : ", \"") + tensor->name + "\": \"" + file + "\"";
    }
    SafetensorsWriter writer(path / file, std::move(plan));
    for (const FolderTensor* tensor : content[s]) {
      const std::vector<float> values = drawn_weights(tensor->name, tensor->shape);
      std::vector<std::byte> bytes(values.size() * dtype_size(dtype));
      convert_elements(DType::float32, std::as_bytes(std::span(values)), dtype, bytes);
      writer.write(bytes);
    }
    writer.finish();
  }
  if (shards > 1) put_file(path / "model.safetensors.index.json", "{\"weight_map\": {" + map + "}}");
}

}  // namespace reprise::test
