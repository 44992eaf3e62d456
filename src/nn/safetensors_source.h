// SPDX-License-Identifier: Apache-2.0
// The weights of a Hugging Face folder: model.safetensors, or the shards that model.safetensors.index.json names. Mapped, never
// copied.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "nn/tensor_source.h"

namespace reprise {

inline constexpr std::string_view kWeightsFile = "model.safetensors";
inline constexpr std::string_view kWeightsIndex = "model.safetensors.index.json";

class SafetensorsSource : public TensorSource {
 public:
  /// Opens one file.
  explicit SafetensorsSource(const std::filesystem::path& file);
  /// Opens the weights of `folder`. UserError when there are none, when both a single file and an index stand there with other
  /// tensors, when a shard is missing or damaged, holds a tensor the index does not place in it, or lacks one that it does.
  static std::unique_ptr<SafetensorsSource> open_folder(const std::filesystem::path& folder);

  void read_rows(std::size_t tensor, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const override;
  void release(std::size_t tensor) const override;
  std::string file_of(std::size_t tensor) const override;
  std::string name() const override { return name_.string(); }

  /// The name of the file a tensor lies in, without its folder.
  std::string shard_of(std::size_t tensor) const;
  /// The tensor's bytes in the mapping.
  const SafetensorsTensor& stored(std::size_t tensor) const { return *places_[tensor].tensor; }
  /// The files' metadata, the first one's.
  const SafetensorsMetadata& metadata() const { return files_.front().metadata(); }

 private:
  struct Place {
    std::size_t file = 0;
    const SafetensorsTensor* tensor = nullptr;
  };

  SafetensorsSource(std::filesystem::path name, std::vector<SafetensorsFile> files);

  std::filesystem::path name_;
  std::vector<SafetensorsFile> files_;
  std::vector<Place> places_;  // of tensors(), by place
};

/// Whether the folder holds weights: a single file or an index.
bool has_weights(const std::filesystem::path& folder);

}  // namespace reprise
