// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "io/json.h"
#include "io/safetensors.h"

namespace reprise {
namespace {

std::string_view format_name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "F32";
    case DType::float64: return "F64";
    case DType::bfloat16: return "BF16";
    case DType::float16: return "F16";
    case DType::int32: return "I32";
    case DType::int64: return "I64";
    case DType::boolean: return "BOOL";
  }
  return "";
}

std::uint64_t bytes_of(const SafetensorsPlan& tensor) {
  std::uint64_t bytes = dtype_size(tensor.dtype);
  for (const std::int64_t extent : tensor.shape) {
    REPRISE_CHECK(extent >= 0, "tensor " + tensor.name + " has a negative extent");
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

/// The header with its length, padded with spaces so that the data starts at a multiple of 8.
std::string header_text(const std::vector<SafetensorsPlan>& plan, const SafetensorsMetadata& metadata) {
  Json::Object members;
  std::unordered_set<std::string_view> names{"__metadata__"};
  if (!metadata.empty()) {
    Json entries = Json::object();
    for (const auto& [key, value] : metadata) entries.set(key, value);
    members.push_back({"__metadata__", std::move(entries)});
  }
  std::uint64_t offset = 0;
  for (const SafetensorsPlan& tensor : plan) {
    REPRISE_CHECK(names.insert(tensor.name).second, "tensor name stands twice in the plan of a file: " + tensor.name);
    std::vector<Json> shape(tensor.shape.begin(), tensor.shape.end());
    const std::uint64_t end = offset + bytes_of(tensor);
    members.push_back({tensor.name, Json::object({{"dtype", format_name(tensor.dtype)},
                                                  {"shape", Json::array(std::move(shape))},
                                                  {"data_offsets", Json::array({Json::count(offset), Json::count(end)})}})});
    offset = end;
  }
  Json header = Json::object();
  header.members() = std::move(members);
  std::string text = write_json(header, kCompact);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFF);
  return length + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<SafetensorsPlan> plan,
                                     const SafetensorsMetadata& metadata)
    : file_(path), plan_(std::move(plan)) {
  file_.write(header_text(plan_, metadata));
  if (!plan_.empty()) left_ = bytes_of(plan_[0]);
  skip_complete();
}

void SafetensorsWriter::skip_complete() {
  while (current_ < plan_.size() && left_ == 0) {
    ++current_;
    if (current_ < plan_.size()) left_ = bytes_of(plan_[current_]);
  }
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  REPRISE_CHECK(current_ < plan_.size(), "bytes after the last tensor of " + file_.path().string());
  REPRISE_CHECK(bytes.size() <= left_, fmt::format("tensor {} has {} bytes left, not {}", plan_[current_].name, left_,
                                                   bytes.size()));
  file_.write(bytes);
  left_ -= bytes.size();
  skip_complete();
}

void SafetensorsWriter::write_tensor(std::string_view name, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  REPRISE_CHECK(current_ < plan_.size() && plan_[current_].name == name && bytes_of(plan_[current_]) == bytes.size(),
                fmt::format("tensor {} of {} bytes is not the next one of the plan", name, bytes.size()));
  write(bytes);
}

void SafetensorsWriter::finish() {
  REPRISE_CHECK(current_ == plan_.size(), "the file is finished before tensor " + plan_[current_].name + " is complete");
  file_.commit();
}

}  // namespace reprise
