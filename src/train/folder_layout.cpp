// SPDX-License-Identifier: Apache-2.0
#include "train/folder_layout.h"

#include <algorithm>

#include "io/file_write.h"
#include "io/path_query.h"
#include "nn/folder_weights.h"
#include "nn/safetensors_source.h"

namespace reprise {
namespace {

constexpr std::string_view kTokenizerFiles[] = {"tokenizer.json",      "tokenizer_config.json",
                                                "tokenizer.model",     "special_tokens_map.json",
                                                "added_tokens.json",   "vocab.json",
                                                "merges.txt",          "vocab.txt",
                                                "chat_template.jinja", "chat_template.json"};
constexpr std::string_view kGenerationFile = "generation_config.json";

}  // namespace

FolderLayout read_layout(const std::filesystem::path& folder, std::span<const std::string> ignored) {
  FolderLayout layout;
  layout.folder = folder;
  layout.ignored.assign(ignored.begin(), ignored.end());
  layout.config = read_json(folder / "config.json");
  layout.model = config_from_json(layout.config, (folder / "config.json").string(), ignored);
  const auto source = SafetensorsSource::open_folder(folder);
  const WeightTable table = folder_weights(layout.model.config, layout.model.family);
  const std::vector<std::size_t> places = match_weights(*source, table);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const SafetensorsTensor& tensor = source->stored(places[i]);
    layout.tensors[table.tensors[i].name] = {tensor.name, tensor.dtype, source->shard_of(places[i])};
  }
  layout.sharded = path_exists(folder / kWeightsIndex);
  layout.metadata = source->metadata();
  return layout;
}

void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to, bool tokenizer) {
  std::vector<std::string_view> names{kGenerationFile};
  if (tokenizer) names.insert(names.end(), std::begin(kTokenizerFiles), std::end(kTokenizerFiles));
  for (const std::string_view name : names) {
    if (is_plain_file(from / name)) write_text_file(to / name, read_text_file(from / name));
  }
}

}  // namespace reprise
