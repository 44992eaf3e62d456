// SPDX-License-Identifier: Apache-2.0
#include "train/dataset.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/json.h"
#include "io/json_view.h"
#include "train/text_source.h"

namespace reprise {
namespace {

constexpr std::int64_t kFormatVersion = 1;
constexpr std::string_view kManifest = "data.json";

std::vector<std::string_view> texts_of(const std::vector<TextDocument>& documents) {
  std::vector<std::string_view> texts;
  for (const TextDocument& document : documents) texts.push_back(document.text());
  return texts;
}

void warn_of_replaced(const std::vector<TextDocument>& documents, const DatasetOptions& options) {
  for (const TextDocument& document : documents) {
    if (document.replaced_bytes() == 0 || !options.warn) continue;
    options.warn(fmt::format("{}: {} bytes are not UTF-8 and were replaced by U+FFFD", document.path(), document.replaced_bytes()));
  }
}

std::int64_t total_bytes(const std::vector<std::string_view>& texts) {
  std::int64_t bytes = 0;
  for (const std::string_view text : texts) bytes += static_cast<std::int64_t>(text.size());
  return bytes;
}

void require_blocks(std::int64_t tokens, std::int64_t block_size, std::string_view which) {
  if (tokens > block_size) return;
  throw UserError(fmt::format("the {} text is shorter than a block: {} tokens, and a block of {} needs {}; give more text or a "
                              "smaller --block_size",
                              which, tokens, block_size, block_size + 1));
}

}  // namespace

Dataset build_dataset(const std::filesystem::path& folder, const DatasetOptions& options) {
  const std::vector<TextDocument> documents = load_documents(options.paths);
  warn_of_replaced(documents, options);
  const std::vector<std::string_view> all = texts_of(documents);
  const std::optional<double> fraction = parse_validation_fraction(options.validation);
  TextSplit split = split_documents(all, fraction.value_or(0));
  std::vector<TextDocument> held_out;
  if (!fraction) {
    held_out.push_back(TextDocument::load(options.validation));
    warn_of_replaced(held_out, options);
    split.validation = texts_of(held_out);
  }

  Dataset data;
  // Learned from all text, so that validation holds no character that has no id.
  std::vector<std::string_view> seen = all;
  if (!fraction) seen.insert(seen.end(), split.validation.begin(), split.validation.end());
  data.tokenizer = is_learned_tokenizer(options.tokenizer) ? learn_tokenizer(options.tokenizer, seen) : load_tokenizer(options.tokenizer);
  data.text_bytes = total_bytes(seen);

  make_directories(folder);
  data.train = open_or_build_shard(folder, "train", split.train, *data.tokenizer);
  require_blocks(data.train.tokens().size(), options.block_size, "training");
  Json manifest = Json::object({{"format_version", kFormatVersion}, {"train", data.train.path().filename().string()}});
  if (total_bytes(split.validation) > 0) {
    data.validation = open_or_build_shard(folder, "validation", split.validation, *data.tokenizer);
    require_blocks(data.validation->tokens().size(), 1, "validation");
    manifest.set("validation", data.validation->path().filename().string());
  }
  save_tokenizer(*data.tokenizer, folder);
  write_text_file(folder / kManifest, write_json(manifest, 2) + "\n");  // last: says that all is there
  return data;
}

Dataset open_dataset(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifest;
  const Json json = read_json(path);
  const JsonView manifest(json, path.string());
  const std::int64_t version = manifest.at("format_version").integer();
  if (version > kFormatVersion) {
    manifest.fail(fmt::format("data format {} is newer than this program reads ({}); use a newer reprise", version, kFormatVersion));
  }
  Dataset data;
  data.tokenizer = load_tokenizer(folder);
  data.train = TokenShard::open(folder / manifest.at("train").string(), *data.tokenizer);
  if (const auto validation = manifest.find("validation")) {
    data.validation = TokenShard::open(folder / validation->string(), *data.tokenizer);
  }
  return data;
}

bool has_dataset(const std::filesystem::path& folder) { return std::filesystem::exists(folder / kManifest); }

}  // namespace reprise
