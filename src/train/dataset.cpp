// SPDX-License-Identifier: Apache-2.0
#include "train/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/json.h"
#include "io/json_view.h"
#include "io/path_query.h"
#include "train/content_hash.h"
#include "train/shard_encoding.h"

namespace reprise {
namespace {

constexpr std::int64_t kFormatVersion = 2;
constexpr std::string_view kManifest = "data.json";

void require_blocks(std::int64_t tokens, std::int64_t block_size, std::string_view which) {
  if (tokens > block_size) return;
  throw UserError(fmt::format("the {} text is shorter than a block: {} tokens, and a block of {} needs {}; give more text or a "
                              "smaller --block_size",
                              which, tokens, block_size, block_size + 1));
}

/// Where the shards of a dataset go, and which of them are missing.
struct ShardPlan {
  std::filesystem::path train, validation;  // validation: empty when there is none
  std::uint64_t key = 0;

  bool train_missing() const { return !path_exists(train); }
  bool validation_missing() const { return !validation.empty() && !path_exists(validation); }
};

std::uint64_t key_of(const DataExtent& train, const DataExtent& validation, double fraction, const DatasetOptions& options,
                     const Tokenizer& tokenizer) {
  ContentHash hash;
  for (const std::uint64_t number : {train.hash, validation.hash, std::bit_cast<std::uint64_t>(fraction), tokenizer.fingerprint(),
                                     std::uint64_t{options.mask_prompt ? 1u : 0u}}) {
    hash.add(number);
  }
  return hash.digest();
}

/// `expected`: the training shard that must come out, when there was one before.
ShardPlan plan_shards(const std::filesystem::path& folder, std::uint64_t key, bool validate, const std::filesystem::path* expected) {
  ShardPlan plan{shard_path(folder, "train", key), validate ? shard_path(folder, "validation", key) : std::filesystem::path(), key};
  if (expected == nullptr || plan.train == *expected) return plan;
  throw UserError(
      fmt::format("a shard of {} is missing and the text is no longer what it was made from, so that it cannot be built again; bring the "
                  "text back, or start another run",
                  folder.string()));
}

/// The files of a dataset, found but not yet read.
struct Inputs {
  DataFiles train;
  DataFiles validation;             // none with a fraction
  std::optional<double> fraction;   // of the training data

  bool tokens() const { return train.tokens(); }
};

Inputs find_inputs(const DatasetOptions& options) {
  Inputs inputs;
  inputs.train = find_data_files(options.paths, options.format);
  inputs.fraction = parse_validation_fraction(options.validation);
  if (!inputs.fraction) inputs.validation = find_data_files(std::vector{options.validation}, options.format);
  if (!inputs.fraction && inputs.validation.tokens() != inputs.train.tokens()) {
    throw UserError(fmt::format("--data and --val_data must both be text or both be tokens; give one kind: {} and {}",
                                inputs.train.files.front().path, options.validation));
  }
  if (inputs.tokens() && is_learned_tokenizer(options.tokenizer)) {
    throw UserError(
        fmt::format("a tokenizer cannot be learned from token ids; give the one the files were made with: --tokenizer FILE; {} holds "
                    "tokens",
                    inputs.train.files.front().path));
  }
  return inputs;
}

void warn_all(const DatasetOptions& options, const std::vector<std::string>& warnings) {
  if (!options.warn) return;
  for (const std::string& warning : warnings) options.warn(warning);
}

/// Shards of text, and the tokenizer they are made with.
void build_text(const std::filesystem::path& folder, const DatasetOptions& options, const Inputs& inputs,
                const std::filesystem::path* expected, Dataset& data, ShardPlan& plan) {
  const TextOptions text{options.text_field, folder};
  TextSource train(inputs.train.files, text);
  TextSource validation(inputs.validation.files, text);
  // Learned from all text, so that validation holds no character that has no id.
  std::optional<TokenizerLearner> learner;
  if (is_learned_tokenizer(options.tokenizer)) learner.emplace(options.tokenizer);
  const DataExtent train_extent = survey_text(train, learner ? &*learner : nullptr);
  const DataExtent validation_extent = inputs.fraction ? DataExtent{} : survey_text(validation, learner ? &*learner : nullptr);
  warn_all(options, train.warnings());
  warn_all(options, validation.warnings());
  data.tokenizer = learner ? learner->finish() : load_tokenizer(options.tokenizer);
  data.text_bytes = train_extent.size + validation_extent.size;

  const double fraction = inputs.fraction.value_or(0);
  plan = plan_shards(folder, key_of(train_extent, validation_extent, fraction, options, *data.tokenizer), !inputs.fraction || fraction > 0,
                     expected);
  std::optional<DocumentWriter> train_writer;
  std::optional<DocumentWriter> validation_writer;
  if (plan.train_missing()) train_writer.emplace(plan.train, *data.tokenizer, plan.key, options.mask_prompt);
  if (plan.validation_missing()) validation_writer.emplace(plan.validation, *data.tokenizer, plan.key, options.mask_prompt);
  DocumentWriter* const train_to = train_writer ? &*train_writer : nullptr;
  DocumentWriter* const validation_to = validation_writer ? &*validation_writer : nullptr;
  if (inputs.fraction && (train_to != nullptr || validation_to != nullptr)) {
    encode_text_split(train, cut_of(train_extent.size, fraction), train_to, validation_to);
  } else {
    if (train_to != nullptr) encode_text(train, *train_to);
    if (validation_to != nullptr) encode_text(validation, *validation_to);
  }
  if (train_writer) train_writer->shard().finish();
  if (validation_writer) validation_writer->shard().finish();
}

void build_tokens(const std::filesystem::path& folder, const DatasetOptions& options, const Inputs& inputs,
                  const std::filesystem::path* expected, Dataset& data, ShardPlan& plan) {
  data.tokenizer = load_tokenizer(options.tokenizer);
  const DataExtent train_extent = survey_tokens(inputs.train.files, folder, *data.tokenizer);
  const DataExtent validation_extent = survey_tokens(inputs.validation.files, folder, *data.tokenizer);
  const double fraction = inputs.fraction.value_or(0);
  plan = plan_shards(folder, key_of(train_extent, validation_extent, fraction, options, *data.tokenizer), !inputs.fraction || fraction > 0,
                     expected);
  std::optional<ShardWriter> train;
  std::optional<ShardWriter> validation;
  std::optional<TokenCopier> train_copier;
  std::optional<TokenCopier> validation_copier;
  if (plan.train_missing()) train_copier.emplace(train.emplace(plan.train, *data.tokenizer, plan.key), *data.tokenizer);
  if (plan.validation_missing()) validation_copier.emplace(validation.emplace(plan.validation, *data.tokenizer, plan.key), *data.tokenizer);
  const auto pointer = [](auto& copier) { return copier ? &*copier : nullptr; };
  if (inputs.fraction) {
    encode_token_split(inputs.train.files, folder, cut_of(train_extent.size, fraction), pointer(train_copier), pointer(validation_copier));
  } else {
    if (train) encode_token_split(inputs.train.files, folder, {train_extent.size}, pointer(train_copier), nullptr);
    if (validation) encode_token_split(inputs.validation.files, folder, {validation_extent.size}, pointer(validation_copier), nullptr);
  }
  if (train) train->finish();
  if (validation) validation->finish();
}

/// Builds what is missing of the shards and opens them.
Dataset build_shards(const std::filesystem::path& folder, const DatasetOptions& options, const std::filesystem::path* expected = nullptr) {
  const Inputs inputs = find_inputs(options);
  warn_all(options, inputs.train.skipped);
  warn_all(options, inputs.validation.skipped);
  make_directories(folder);
  Dataset data;
  data.files = static_cast<std::int64_t>(inputs.train.files.size());
  ShardPlan plan;
  if (inputs.tokens()) {
    build_tokens(folder, options, inputs, expected, data, plan);
  } else {
    build_text(folder, options, inputs, expected, data, plan);
  }
  data.train = TokenShard::open(plan.train, *data.tokenizer);
  require_blocks(data.train.tokens().size(), options.block_size, "training");
  if (plan.validation.empty()) return data;
  TokenShard validation = TokenShard::open(plan.validation, *data.tokenizer);
  if (validation.tokens().size() == 0) {
    remove_path(plan.validation);  // a share so small that it is less than a character, a line or a token
    if (options.warn) options.warn("no text is left to validate on; give a larger share or a file with --val_data");
    return data;
  }
  require_blocks(validation.tokens().size(), 1, "validation");
  data.validation = std::move(validation);
  return data;
}

bool uses_streams(const DatasetOptions& options) {
  std::vector<std::string> paths = options.paths;
  if (!parse_validation_fraction(options.validation)) paths.push_back(options.validation);
  return std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code ignored;
    return path == "-" || std::filesystem::is_fifo(path, ignored);
  });
}

/// Builds again the shards that data.json names and that are gone.
void rebuild_missing(const std::filesystem::path& folder, DatasetOptions options, std::span<const std::filesystem::path> shards) {
  const auto missing = std::find_if(shards.begin(), shards.end(), [](const auto& shard) { return !path_exists(shard); });
  if (missing == shards.end()) return;
  if (uses_streams(options)) {
    throw UserError(fmt::format("{} is missing and its text came through a pipe, so that it cannot be built again; start another run",
                                missing->string()));
  }
  options.tokenizer = folder.string();
  options.warn = nullptr;  // said when the run began
  build_shards(folder, options, &shards[0]);
}

}  // namespace

void check_data_files(const DatasetOptions& options) { find_inputs(options); }

Dataset build_dataset(const std::filesystem::path& folder, const DatasetOptions& options) {
  Dataset data = build_shards(folder, options);
  Json manifest = Json::object({{"format_version", kFormatVersion}, {"train", data.train.path().filename().string()}});
  if (data.validation) manifest.set("validation", data.validation->path().filename().string());
  save_tokenizer(*data.tokenizer, folder);
  write_text_file(folder / kManifest, write_json(manifest, 2) + "\n");  // last: says that all is there
  return data;
}

Dataset open_dataset(const std::filesystem::path& folder, DatasetOptions options) {
  const std::filesystem::path path = folder / kManifest;
  const Json json = read_json(path);
  const JsonView manifest(json, path.string());
  const std::int64_t version = manifest.at("format_version").integer();
  if (version > kFormatVersion) {
    manifest.fail(fmt::format("data format {} is newer than this program reads ({}); use a newer reprise", version, kFormatVersion));
  }
  if (version < kFormatVersion) {
    manifest.fail(
        fmt::format("data format {} is older than this program reads ({}); start another run, or use the reprise that began this one",
                    version, kFormatVersion));
  }
  std::vector<std::filesystem::path> shards{folder / manifest.at("train").string()};
  if (const auto validation = manifest.find("validation")) shards.push_back(folder / validation->string());
  rebuild_missing(folder, std::move(options), shards);
  Dataset data;
  data.tokenizer = load_tokenizer(folder);
  data.train = TokenShard::open(shards[0], *data.tokenizer);
  if (shards.size() > 1) data.validation = TokenShard::open(shards[1], *data.tokenizer);
  return data;
}

bool has_dataset(const std::filesystem::path& folder) { return path_exists(folder / kManifest); }

}  // namespace reprise
