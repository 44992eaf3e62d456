// SPDX-License-Identifier: Apache-2.0
// From data files to token shards: one pass that surveys them, and one that encodes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "train/data_files.h"
#include "train/text_source.h"
#include "train/token_shards.h"

namespace reprise {

/// What the first pass over some files finds.
struct DataExtent {
  std::int64_t size = 0;  // bytes of text, or tokens
  std::uint64_t hash = 0;
};

/// Where training data ends and validation data begins, in bytes of text or tokens.
struct DataCut {
  std::int64_t at = 0;
  std::int64_t train_part(std::int64_t begin, std::int64_t size) const { return std::clamp<std::int64_t>(at - begin, 0, size); }
};

/// Cuts the share `fraction` off the end.
DataCut cut_of(std::int64_t size, double fraction);

/// Writes documents into a shard.
class DocumentWriter {
 public:
  DocumentWriter(const std::filesystem::path& path, const Tokenizer& tokenizer, std::uint64_t key, bool mask_prompt);

  /// `whole`: the end of the text is the document's.
  void add(const Document& document, bool whole);

  ShardWriter& shard() { return shard_; }

 private:
  void encode(std::string_view text, bool target, const Document& document);

  const Tokenizer& tokenizer_;
  ShardWriter shard_;
  std::vector<std::int32_t> end_;  // of a document
  bool mask_prompt_;
};

/// Reads `source` once: its extent, and the lesson of the tokenizer, where one is learned.
DataExtent survey_text(TextSource& source, TokenizerLearner* learner);

/// Encodes training text up to the cut into one shard, and what follows into the other. A line of JSON is not cut: it is
/// validation text when its end is, but for the first.
void encode_text_split(TextSource& source, const DataCut& cut, DocumentWriter* train, DocumentWriter* validation);

/// Encodes all of `source` into one shard.
void encode_text(TextSource& source, DocumentWriter& writer);

/// Adds tokens to a shard, cut into documents at the end of text.
class TokenCopier {
 public:
  TokenCopier(ShardWriter& shard, const Tokenizer& tokenizer) : shard_(shard), end_(tokenizer.end_of_text()) {}

  void add(DataFormat format, std::span<const std::int32_t> ids);

 private:
  ShardWriter& shard_;
  std::optional<std::int32_t> end_;
};

/// Reads token files once: their extent. Compressed ones go through a file in `spool`. UserError for a token that the tokenizer lacks.
DataExtent survey_tokens(const std::vector<DataFile>& files, const std::filesystem::path& spool, const Tokenizer& tokenizer);

/// Copies tokens up to the cut into one shard, and what follows into the other; either may be null.
void encode_token_split(const std::vector<DataFile>& files, const std::filesystem::path& spool, const DataCut& cut, TokenCopier* train,
                        TokenCopier* validation);

}  // namespace reprise
