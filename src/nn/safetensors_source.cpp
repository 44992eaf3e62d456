// SPDX-License-Identifier: Apache-2.0
#include "nn/safetensors_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "io/json_view.h"
#include "io/path_query.h"
#include "nn/weight_conversion.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

/// The shard of every tensor, by name; sorted, so that files are opened in the same order everywhere.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const Json json = read_json(path);
  const JsonView view(json, path.string());
  const JsonView map = view.at("weight_map");
  if (!map.json().is_object()) map.fail("must be an object of tensor names and file names");
  std::map<std::string, std::string> shards;
  for (const JsonMember& member : map.json().members()) {
    const std::string file = map.at(member.key).string();
    if (file.empty() || fs::path(file).filename() != file || file == "." || file == "..") {
      map.at(member.key).fail(fmt::format("must be the name of a file in the same folder, not \"{}\"", file));
    }
    shards.emplace(member.key, file);
  }
  if (shards.empty()) map.fail("names no tensors; fetch or write the folder again");
  return shards;
}

/// Index and shards must say the same.
void check_index(const fs::path& index, const std::map<std::string, std::string>& shards, const std::vector<SafetensorsFile>& files) {
  std::size_t found = 0;
  for (const SafetensorsFile& file : files) {
    for (const SafetensorsTensor& tensor : file.tensors()) {
      const auto placed = shards.find(tensor.name);
      if (placed == shards.end()) {
        throw UserError(fmt::format("{}: the index does not name a tensor that this file holds; fetch or write the folder again: {}",
                                    file.path().string(), tensor.name));
      }
      if (placed->second != file.path().filename().string()) {
        throw UserError(fmt::format("{}: the index places this tensor in another file, {}; fetch or write the folder again: {}",
                                    file.path().string(), placed->second, tensor.name));
      }
      ++found;
    }
  }
  if (found == shards.size()) return;
  for (const auto& entry : shards) {
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const SafetensorsFile& f) { return f.path().filename() == entry.second; });
    if (file->find(entry.first) == nullptr) {
      throw UserError(fmt::format("{}: {} lacks a tensor that the index places in it; fetch or write the folder again: {}", index.string(),
                                  entry.second, entry.first));
    }
  }
}

}  // namespace

SafetensorsSource::SafetensorsSource(fs::path name, std::vector<SafetensorsFile> files) : name_(std::move(name)), files_(std::move(files)) {
  std::vector<SourceTensor> tensors;
  for (std::size_t file = 0; file < files_.size(); ++file) {
    for (const SafetensorsTensor& tensor : files_[file].tensors()) {
      tensors.push_back({tensor.name, std::string(dtype_name(tensor.dtype)), tensor.dtype, tensor.shape});
      places_.push_back({file, &tensor});
    }
  }
  set_tensors(std::move(tensors));
}

SafetensorsSource::SafetensorsSource(const fs::path& file)
    : SafetensorsSource(file, [&] {
        std::vector<SafetensorsFile> files;
        files.push_back(SafetensorsFile::open(file));
        return files;
      }()) {}

std::unique_ptr<SafetensorsSource> SafetensorsSource::open_folder(const fs::path& folder) {
  const fs::path single = folder / kWeightsFile;
  const fs::path index = folder / kWeightsIndex;
  if (!path_exists(index)) return std::make_unique<SafetensorsSource>(single);
  if (path_exists(single)) {
    throw UserError(
        fmt::format("{}: both {} and {} are here; remove the one that is not meant", folder.string(), kWeightsFile, kWeightsIndex));
  }
  const std::map<std::string, std::string> shards = read_index(index);
  std::vector<std::string> names;
  for (const auto& [tensor, shard] : shards) names.push_back(shard);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<SafetensorsFile> files;
  for (const std::string& name : names) {
    if (!path_exists(folder / name)) {
      throw UserError(fmt::format("{}: a file that the index names is missing; fetch it again: {}", index.string(), name));
    }
    files.push_back(SafetensorsFile::open(folder / name));
  }
  check_index(index, shards, files);
  return std::unique_ptr<SafetensorsSource>(new SafetensorsSource(index, std::move(files)));
}

void SafetensorsSource::read_rows(std::size_t tensor, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const {
  const SafetensorsTensor& from = *places_[tensor].tensor;
  if (!is_floating(from.dtype)) {
    throw UserError(fmt::format("{}: wrong dtype of {}; weights are floating: {}", file_of(tensor), from.name, dtype_name(from.dtype)));
  }
  const std::size_t row = static_cast<std::size_t>(tensors()[tensor].width()) * dtype_size(from.dtype);
  convert_elements(from.dtype, from.bytes.subspan(static_cast<std::size_t>(first) * row, static_cast<std::size_t>(last - first) * row),
                   dtype, to);
}

void SafetensorsSource::release(std::size_t tensor) const { files_[places_[tensor].file].release(*places_[tensor].tensor); }

std::string SafetensorsSource::file_of(std::size_t tensor) const { return files_[places_[tensor].file].path().string(); }

std::string SafetensorsSource::shard_of(std::size_t tensor) const {
  return files_[places_[tensor].file].path().filename().string();
}

bool has_weights(const fs::path& folder) { return path_exists(folder / kWeightsFile) || path_exists(folder / kWeightsIndex); }

}  // namespace reprise
