// SPDX-License-Identifier: Apache-2.0
#include "train/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/safetensors.h"
#include "nn/folder_weights.h"

namespace reprise {
namespace {

using SlotMap = std::unordered_map<std::string_view, const TensorSlot*>;

SlotMap by_name(std::span<const TensorSlot> slots) {
  SlotMap map;
  for (const TensorSlot& slot : slots) map.emplace(slot.name, &slot);
  return map;
}

const TensorSlot& slot_of(const SlotMap& slots, const std::string& parameter) {
  const auto found = slots.find(parameter);
  REPRISE_CHECK(found != slots.end(), fmt::format("no slot for parameter {}", parameter));
  return *found->second;
}

/// Bytes of one row: everything behind the first dimension.
std::size_t row_bytes(const TensorSlot& slot) {
  return slot.shape.empty() || slot.shape[0] == 0 ? 0 : slot.bytes.size() / static_cast<std::size_t>(slot.shape[0]);
}

std::span<std::byte> rows_of(const TensorSlot& slot, RowRange rows) {
  const std::size_t bytes = row_bytes(slot);
  return slot.bytes.subspan(static_cast<std::size_t>(rows.first) * bytes, static_cast<std::size_t>(rows.second - rows.first) * bytes);
}

template <class T>
T read_as(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

double read_element(DType dtype, const std::byte* bytes) {
  switch (dtype) {
    case DType::float32: return static_cast<double>(read_as<float>(bytes));
    case DType::float64: return read_as<double>(bytes);
    case DType::bfloat16: return static_cast<double>(to_float(read_as<bfloat16>(bytes)));
    case DType::float16: return static_cast<double>(to_float(read_as<float16>(bytes)));
    default: throw InternalError("weights are of floating types");
  }
}

template <class T>
void write_as(std::byte* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

void write_element(DType dtype, std::byte* bytes, double value) {
  switch (dtype) {
    case DType::float32: return write_as(bytes, static_cast<float>(value));
    case DType::float64: return write_as(bytes, value);
    case DType::bfloat16: return write_as(bytes, to_bfloat16(static_cast<float>(value)));
    default: throw InternalError("parameters are float32, float64 or bfloat16");
  }
}

/// Converts `from` into `to`; throws at the first value that is not finite. `where` names file and tensor.
void convert_finite(DType from_dtype, std::span<const std::byte> from, DType to_dtype, std::span<std::byte> to, const std::string& where) {
  const std::size_t from_size = dtype_size(from_dtype);
  const std::size_t to_size = dtype_size(to_dtype);
  const std::size_t count = from.size() / from_size;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = read_element(from_dtype, from.data() + i * from_size);
    if (!std::isfinite(value)) {
      throw UserError(fmt::format("{}: the weights hold a value that is not finite; take an earlier copy of them: element {} is {}", where, i, value));
    }
    write_element(to_dtype, to.data() + i * to_size, value);
  }
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

void save_model_folder(const std::filesystem::path& path, const GptConfig& config, std::span<const TensorSlot> parameters,
                       const Tokenizer* tokenizer) {
  const ConfigFile file = config_to_json(config);
  const SlotMap slots = by_name(parameters);
  const std::vector<FolderTensor> tensors = folder_tensors(config, file.names);
  StagedDirectory folder(path);

  std::vector<SafetensorsPlan> plan;
  for (const FolderTensor& tensor : tensors) plan.push_back({tensor.name, slot_of(slots, tensor.parameter).dtype, tensor.shape});
  SafetensorsWriter writer(folder.path() / "model.safetensors", std::move(plan), {{"format", "pt"}});
  for (const FolderTensor& tensor : tensors) {
    for (const RowRange& rows : tensor.rows) writer.write(rows_of(slot_of(slots, tensor.parameter), rows));
  }
  writer.finish();
  if (tokenizer != nullptr) save_tokenizer(*tokenizer, folder.path());
  write_text_file(folder.path() / "config.json", write_json(file.json, 2) + "\n");
  folder.commit();
}

void load_model_weights(const std::filesystem::path& folder, const FolderConfig& model, std::span<const TensorSlot> parameters) {
  const std::filesystem::path path = folder / "model.safetensors";
  const SafetensorsFile file = SafetensorsFile::open(path);
  const SlotMap slots = by_name(parameters);
  std::unordered_set<std::string_view> used;
  for (const FolderTensor& wanted : folder_tensors(model.config, model.names)) {
    const SafetensorsTensor* tensor = file.find(wanted.name);
    for (const std::string& other : alternative_names(model.config, model.names, wanted.name)) {
      if (tensor == nullptr) tensor = file.find(other);
    }
    if (tensor == nullptr) {
      throw UserError(fmt::format("{}: a tensor of the model is missing: {} {}", path.string(), wanted.name, shape_text(wanted.shape)));
    }
    if (tensor->shape != wanted.shape) {
      throw UserError(fmt::format("{}: wrong shape of {}: the file has {}, the model {}", path.string(), tensor->name,
                                  shape_text(tensor->shape), shape_text(wanted.shape)));
    }
    if (!is_floating(tensor->dtype)) {
      throw UserError(fmt::format("{}: wrong dtype of {}; weights are floating: {}", path.string(), tensor->name, dtype_name(tensor->dtype)));
    }
    used.insert(tensor->name);
    const TensorSlot& slot = slot_of(slots, wanted.parameter);
    const std::string where = fmt::format("{}: {}", path.string(), tensor->name);
    std::span<const std::byte> rest = tensor->bytes;
    for (const RowRange& rows : wanted.rows) {
      const std::span<std::byte> to = rows_of(slot, rows);
      const std::size_t bytes = to.size() / dtype_size(slot.dtype) * dtype_size(tensor->dtype);
      convert_finite(tensor->dtype, rest.first(bytes), slot.dtype, to, where);
      rest = rest.subspan(bytes);
    }
    file.release(*tensor);
  }
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (used.contains(tensor.name) || is_derived_tensor(model.config, model.names, tensor.name)) continue;
    throw UserError(fmt::format("{}: the model has no tensor of this name; is config.json the right one? {} {}", path.string(), tensor.name,
                                shape_text(tensor.shape)));
  }
}

}  // namespace reprise
