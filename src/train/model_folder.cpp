// SPDX-License-Identifier: Apache-2.0
#include "train/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/safetensors.h"
#include "nn/gguf_model.h"
#include "nn/gguf_source.h"
#include "nn/safetensors_source.h"
#include "nn/weight_conversion.h"

namespace reprise {
namespace {

constexpr std::int64_t kChunkElements = 65536;

/// Calls `f` with ranges that cut [0, rows) so that each holds few elements.
template <class F>
void for_chunks(std::int64_t rows, std::int64_t width, const F& f) {
  const std::int64_t step = std::max<std::int64_t>(1, kChunkElements / std::max<std::int64_t>(1, width));
  for (std::int64_t first = 0; first < rows; first += step) f(first, std::min(rows, first + step));
}

std::int64_t width_of(const std::vector<std::int64_t>& shape) { return SourceTensor{"", "", {}, shape}.width(); }

// ---- writing -------------------------------------------------------------------------------------------------------------

/// A tensor as it goes to a file.
struct Written {
  const FolderTensor* tensor;
  std::string name;
  DType dtype;
  std::string file;

  std::uint64_t bytes() const {
    std::uint64_t count = dtype_size(dtype);
    for (const std::int64_t extent : tensor->shape) count *= static_cast<std::uint64_t>(extent);
    return count;
  }
};

/// config.json of the folder: the origin's own where it says the same model, else with the keys changed that differ.
ConfigFile folder_config(const GptConfig& config, const ModelFolderOptions& options) {
  if (options.origin == nullptr) return config_to_json(config);
  const FolderLayout& origin = *options.origin;
  const auto same = [&](GptConfig a) {
    a.name = origin.model.config.name;
    a.set_dropout(0);
    a.vocab_follows_tokenizer = false;
    return a == origin.model.config;
  };
  if (same(config)) return {origin.config, origin.model.family};
  ConfigFile file = config_to_json(config, origin.model.family);
  if (file.family != origin.model.family || file.family == ModelFamily::own) return file;
  Json merged = origin.config;
  for (const JsonMember& member : file.json.members()) merged.set(member.key, member.value);
  try {
    const GptConfig read = config_from_json(merged, "config.json", origin.ignored).config;
    if (read == config_from_json(file.json, "config.json").config) file.json = std::move(merged);
  } catch (const UserError&) {
    // The origin's other keys do not go with the new structure.
  }
  return file;
}

/// Says the weights' type where transformers looks for it.
void set_dtype(ConfigFile& file, DType dtype) {
  if (file.family == ModelFamily::own) return;
  const char* key = file.json.find("dtype") != nullptr ? "dtype" : "torch_dtype";
  file.json.set(key, Json(dtype_name(dtype)));
}

/// Names files of at most `most` bytes, in the tensors' order.
void cut_into_shards(std::vector<Written>& tensors, std::uint64_t most) {
  std::vector<std::size_t> shard;
  std::uint64_t filled = 0;
  std::size_t count = 0;
  for (const Written& tensor : tensors) {
    if (count == 0 || filled + tensor.bytes() > most) {
      ++count;
      filled = 0;
    }
    filled += tensor.bytes();
    shard.push_back(count);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].file = count == 1 ? std::string(kWeightsFile) : fmt::format("model-{:05}-of-{:05}.safetensors", shard[i], count);
  }
}

std::vector<Written> plan_tensors(const WeightTable& table, ModelFamily family, const ParameterSource& parameters,
                                  const ModelFolderOptions& options) {
  const FolderLayout* const origin = options.origin != nullptr && options.origin->model.family == family ? options.origin : nullptr;
  std::vector<Written> tensors;
  std::string file(kWeightsFile);
  for (const FolderTensor& tensor : table.tensors) {
    Written written{&tensor, tensor.name, parameters.dtype(tensor.rows.at(0).parameter), file};
    if (origin != nullptr) {
      const auto stored = origin->tensors.find(tensor.name);
      if (stored != origin->tensors.end()) {
        written.name = stored->second.name;
        written.dtype = stored->second.dtype;
        written.file = stored->second.shard;
      }
      file = written.file;  // a tensor that the origin lacks goes where the one before went
    }
    if (options.dtype) written.dtype = *options.dtype;
    tensors.push_back(std::move(written));
  }
  if (options.max_shard_bytes) cut_into_shards(tensors, *options.max_shard_bytes);
  return tensors;
}

void write_tensor(SafetensorsWriter& writer, const Written& written, const ParameterSource& parameters) {
  const std::int64_t width = width_of(written.tensor->shape);
  std::vector<std::byte> buffer;
  for (const ParameterRows& rows : written.tensor->rows) {
    for_chunks(rows.last - rows.first, width, [&](std::int64_t first, std::int64_t last) {
      buffer.resize(static_cast<std::size_t>((last - first) * width) * dtype_size(written.dtype));
      parameters.read_rows(rows.parameter, rows.first + first, rows.first + last, written.dtype, buffer);
      if (first_not_finite(written.dtype, buffer)) {
        throw UserError(fmt::format("{}: the weights hold a value that {} cannot; write the model with another dtype", written.name,
                                    dtype_name(written.dtype)));
      }
      writer.write(buffer);
    });
  }
}

void write_index(const std::filesystem::path& folder, const std::vector<Written>& tensors) {
  std::map<std::string, std::string> files;
  std::uint64_t total = 0;
  for (const Written& tensor : tensors) {
    files[tensor.name] = tensor.file;
    total += tensor.bytes();
  }
  Json map = Json::object();
  for (const auto& [name, file] : files) map.members().push_back({name, Json(file)});
  const Json index = Json::object({{"metadata", Json::object({{"total_size", Json::count(total)}})}, {"weight_map", std::move(map)}});
  write_text_file(folder / kWeightsIndex, write_json(index, 2) + "\n");
}

void write_weights(const std::filesystem::path& folder, const std::vector<Written>& tensors, const ParameterSource& parameters,
                   const SafetensorsMetadata& metadata) {
  std::map<std::string, std::vector<const Written*>> files;
  for (const Written& tensor : tensors) files[tensor.file].push_back(&tensor);
  for (const auto& [file, content] : files) {
    std::vector<SafetensorsPlan> plan;
    for (const Written* tensor : content) plan.push_back({tensor->name, tensor->dtype, tensor->tensor->shape});
    SafetensorsWriter writer(folder / file, std::move(plan), metadata);
    for (const Written* tensor : content) write_tensor(writer, *tensor, parameters);
    writer.finish();
  }
  if (files.size() > 1 || files.begin()->first != kWeightsFile) write_index(folder, tensors);
}

}  // namespace

void save_model_folder(const std::filesystem::path& path, const GptConfig& config, const ParameterSource& parameters,
                       const ModelFolderOptions& options) {
  ConfigFile file = folder_config(config, options);
  const WeightTable table = folder_weights(config, file.family);
  const std::vector<Written> tensors = plan_tensors(table, file.family, parameters, options);
  if (options.dtype || options.origin == nullptr) set_dtype(file, tensors.front().dtype);
  StagedDirectory folder(path);
  write_weights(folder.path(), tensors, parameters,
                options.origin != nullptr ? options.origin->metadata : SafetensorsMetadata{{"format", "pt"}});
  if (options.origin != nullptr) copy_companions(options.origin->folder, folder.path(), options.tokenizer == nullptr);
  if (options.tokenizer != nullptr) save_tokenizer(*options.tokenizer, folder.path());
  write_text_file(folder.path() / "config.json", write_json(file.json, 2) + "\n");
  folder.commit();
}

// ---- reading -------------------------------------------------------------------------------------------------------------

void load_weights(const TensorSource& source, const WeightTable& table, std::span<const TensorSlot> parameters) {
  std::unordered_map<std::string_view, const TensorSlot*> slots;
  for (const TensorSlot& slot : parameters) slots.emplace(slot.name, &slot);
  const std::vector<std::size_t> places = match_weights(source, table);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const SourceTensor& tensor = source.tensors()[places[i]];
    const std::int64_t width = tensor.width();
    std::int64_t from = 0;
    std::int64_t held = 0;
    for (const ParameterRows& rows : table.tensors[i].rows) {
      const auto found = slots.find(rows.parameter);
      REPRISE_CHECK(found != slots.end(), fmt::format("no slot for parameter {}", rows.parameter));
      const TensorSlot& slot = *found->second;
      const std::size_t row_bytes = static_cast<std::size_t>(width) * dtype_size(slot.dtype);
      for_chunks(rows.last - rows.first, width, [&](std::int64_t first, std::int64_t last) {
        const std::span<std::byte> to = slot.bytes.subspan(static_cast<std::size_t>(rows.first + first) * row_bytes,
                                                           static_cast<std::size_t>(last - first) * row_bytes);
        source.read_rows(places[i], from + first, from + last, slot.dtype, to);
        held += (last - first) * width;
        if (held + kChunkElements > kMostHeldElements) {
          source.release(places[i]);
          held = 0;
        }
        if (const auto bad = first_not_finite(slot.dtype, to)) {
          throw UserError(fmt::format("{}: {}: the weights hold a value that is not finite; take an earlier copy of them: element {} is {}",
                                      source.file_of(places[i]), tensor.name, (from + first) * width + static_cast<std::int64_t>(*bad),
                                      element_value(slot.dtype, to.data() + *bad * dtype_size(slot.dtype))));
        }
      });
      from += rows.last - rows.first;
    }
    source.release(places[i]);
  }
}

void load_model_weights(const std::filesystem::path& files, const FolderConfig& model, std::span<const TensorSlot> parameters) {
  if (is_gguf(files)) {
    const GgufSource source(files);
    return load_weights(source, gguf_weights(model.config, source.file()), parameters);
  }
  load_weights(*SafetensorsSource::open_folder(files), folder_weights(model.config, model.family), parameters);
}

}  // namespace reprise
