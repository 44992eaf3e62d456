// SPDX-License-Identifier: Apache-2.0
#include "train/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/json.h"
#include "io/json_view.h"
#include "io/path_query.h"
#include "train/content_hash.h"
#include "train/text_source.h"
#include "train/token_file.h"

namespace reprise {
namespace {

constexpr std::int64_t kFormatVersion = 2;
constexpr std::string_view kManifest = "data.json";
constexpr std::int64_t kPiece = 1 << 16;  // tokens converted at a time

void require_blocks(std::int64_t tokens, std::int64_t block_size, std::string_view which) {
  if (tokens > block_size) return;
  throw UserError(fmt::format("the {} text is shorter than a block: {} tokens, and a block of {} needs {}; give more text or a "
                              "smaller --block_size",
                              which, tokens, block_size, block_size + 1));
}

/// What the first pass over some files finds.
struct Extent {
  std::int64_t size = 0;  // bytes of text, or tokens
  std::uint64_t hash = 0;
};

/// Where training data ends and validation data begins, in bytes of text or tokens.
struct Cut {
  std::int64_t at = 0;
  std::int64_t train_part(std::int64_t begin, std::int64_t size) const { return std::clamp<std::int64_t>(at - begin, 0, size); }
};

Cut cut_of(std::int64_t size, double fraction) {
  return {size - static_cast<std::int64_t>(std::floor(static_cast<double>(size) * fraction))};
}

/// Writes documents into a shard.
class DocumentWriter {
 public:
  DocumentWriter(const std::filesystem::path& path, const Tokenizer& tokenizer, std::uint64_t key, bool mask_prompt)
      : tokenizer_(tokenizer), shard_(path, tokenizer, key), mask_prompt_(mask_prompt) {
    end_ = tokenizer.frame().after;
    const auto end = tokenizer.end_of_text();
    if (end && (end_.empty() || end_.back() != *end)) end_.push_back(*end);
  }

  /// `whole`: the end of the text is the document's.
  void add(const Document& document, bool whole) {
    shard_.begin_document();
    const bool prompt_is_target = document.prompt.empty() || !mask_prompt_;
    shard_.add(tokenizer_.frame().before, prompt_is_target);
    encode(document.prompt, prompt_is_target, document);
    encode(document.text, true, document);
    if (whole) shard_.add(end_);
  }

  ShardWriter& shard() { return shard_; }

 private:
  void encode(std::string_view text, bool target, const Document& document) {
    if (text.empty()) return;
    try {
      tokenizer_.encode_to(text, [&](std::span<const std::int32_t> ids) { shard_.add(ids, target); });
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {}", document.where(), error.what()));
    }
  }

  const Tokenizer& tokenizer_;
  ShardWriter shard_;
  std::vector<std::int32_t> end_;  // of a document
  bool mask_prompt_;
};

/// Where the shards of a dataset go, and which of them are missing.
struct ShardPlan {
  std::filesystem::path train, validation;  // validation: empty when there is none
  std::uint64_t key = 0;

  bool train_missing() const { return !path_exists(train); }
  bool validation_missing() const { return !validation.empty() && !path_exists(validation); }
};

// ---- text --------------------------------------------------------------------------------------------------------

/// Reads `source` once: its extent, and the tokenizer's lesson.
Extent survey(TextSource& source, TokenizerLearner* learner) {
  Extent extent;
  ContentHash hash;
  source.read([&](const Document& document) {
    extent.size += static_cast<std::int64_t>(document.bytes());
    hash.add(document.prompt);
    hash.add(document.text);
    if (learner == nullptr) return;
    learner->add(document.prompt);
    learner->add(document.text);
  });
  extent.hash = hash.digest();
  return extent;
}

/// Encodes training text up to the cut into one shard, and what follows into the other. A line of JSON is not cut: it is
/// validation text when its end is, but for the first.
void encode_split(TextSource& source, const Cut& cut, DocumentWriter* train, DocumentWriter* validation) {
  std::int64_t begin = 0;
  source.read([&](const Document& document) {
    const auto size = static_cast<std::int64_t>(document.bytes());
    auto part = static_cast<std::size_t>(cut.train_part(begin, size));
    if (document.line == 0) {
      part = character_start(document.text, part);
    } else if (part < document.bytes()) {
      part = begin == 0 ? document.bytes() : 0;
    }
    begin += size;
    const bool whole = part == document.bytes();
    if (whole && train != nullptr) train->add(document, true);
    if (!whole && part > 0 && train != nullptr) train->add({{}, document.text.substr(0, part), document.path, 0}, false);
    if (whole || validation == nullptr) return;
    validation->add(part == 0 ? document : Document{{}, document.text.substr(part), document.path, 0}, true);
  });
}

void encode_all(TextSource& source, DocumentWriter& writer) {
  source.read([&](const Document& document) { writer.add(document, true); });
}

// ---- tokens ------------------------------------------------------------------------------------------------------

/// Gives the tokens of `files` piece by piece: take(format, path, index of the first in its file, ids).
template <class Take>
void read_token_files(const std::vector<DataFile>& files, const std::filesystem::path& spool, const Take& take) {
  std::vector<std::int32_t> ids;
  for (const DataFile& file : files) {
    const TokenFile opened = TokenFile::open(file, spool);
    for (std::int64_t i = 0; i < opened.tokens().size(); i += kPiece) {
      const std::int64_t count = std::min(kPiece, opened.tokens().size() - i);
      ids.clear();
      for (std::int64_t t = 0; t < count; ++t) {
        ids.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(opened.tokens()[i + t], INT32_MAX)));
      }
      take(file, i, std::span<const std::int32_t>(ids));
    }
  }
}

Extent survey_tokens(const std::vector<DataFile>& files, const std::filesystem::path& spool, const Tokenizer& tokenizer) {
  Extent extent;
  ContentHash hash;
  read_token_files(files, spool, [&](const DataFile& file, std::int64_t first, std::span<const std::int32_t> ids) {
    const auto outside = std::find_if(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= tokenizer.vocab_size(); });
    if (outside != ids.end()) {
      throw UserError(fmt::format("{}: token {} is {}, but the tokenizer has {} tokens; give the tokenizer that the file was made with",
                                  file.path, first + (outside - ids.begin()), *outside, tokenizer.vocab_size()));
    }
    extent.size += static_cast<std::int64_t>(ids.size());
    hash.add(static_cast<std::uint64_t>(file.format));
    hash.add(std::as_bytes(ids));
  });
  extent.hash = hash.digest();
  return extent;
}

/// Adds tokens to a shard, cut into documents at the end of text.
class TokenCopier {
 public:
  TokenCopier(ShardWriter& shard, const Tokenizer& tokenizer) : shard_(shard), end_(tokenizer.end_of_text()) {}

  void add(DataFormat format, std::span<const std::int32_t> ids) {
    while (end_ && !ids.empty()) {
      const bool leads = format == DataFormat::llm_c;
      const auto found = std::find(ids.begin() + (leads && ids.front() == *end_ ? 1 : 0), ids.end(), *end_);
      if (leads && ids.front() == *end_) shard_.begin_document();
      if (found == ids.end()) break;
      const auto count = static_cast<std::size_t>(found - ids.begin()) + (leads ? 0 : 1);
      shard_.add(ids.first(count));
      ids = ids.subspan(count);
      shard_.begin_document();
    }
    shard_.add(ids);
  }

 private:
  ShardWriter& shard_;
  std::optional<std::int32_t> end_;
};

void encode_token_split(const std::vector<DataFile>& files, const std::filesystem::path& spool, const Cut& cut, TokenCopier* train,
                        TokenCopier* validation) {
  std::int64_t begin = 0;
  read_token_files(files, spool, [&](const DataFile& file, std::int64_t, std::span<const std::int32_t> ids) {
    const auto part = static_cast<std::size_t>(cut.train_part(begin, static_cast<std::int64_t>(ids.size())));
    begin += static_cast<std::int64_t>(ids.size());
    if (train != nullptr) train->add(file.format, ids.first(part));
    if (validation != nullptr) validation->add(file.format, ids.subspan(part));
  });
}

// ---- both --------------------------------------------------------------------------------------------------------

std::uint64_t key_of(const Extent& train, const Extent& validation, double fraction, const DatasetOptions& options,
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
  const Extent train_extent = survey(train, learner ? &*learner : nullptr);
  const Extent validation_extent = inputs.fraction ? Extent{} : survey(validation, learner ? &*learner : nullptr);
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
    encode_split(train, cut_of(train_extent.size, fraction), train_to, validation_to);
  } else {
    if (train_to != nullptr) encode_all(train, *train_to);
    if (validation_to != nullptr) encode_all(validation, *validation_to);
  }
  if (train_writer) train_writer->shard().finish();
  if (validation_writer) validation_writer->shard().finish();
}

void build_tokens(const std::filesystem::path& folder, const DatasetOptions& options, const Inputs& inputs,
                  const std::filesystem::path* expected, Dataset& data, ShardPlan& plan) {
  data.tokenizer = load_tokenizer(options.tokenizer);
  const Extent train_extent = survey_tokens(inputs.train.files, folder, *data.tokenizer);
  const Extent validation_extent = survey_tokens(inputs.validation.files, folder, *data.tokenizer);
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
