// SPDX-License-Identifier: Apache-2.0
// From files to what training reads: a tokenizer and the token shards of the training and validation text, kept in
// the run's folder so that a resumed run needs the text no more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "train/data_files.h"
#include "train/token_shards.h"

namespace reprise {

struct DatasetOptions {
  std::vector<std::string> paths;       // files and folders to train on (data_files.h)
  std::string validation = "0.1";       // a share of the training data, or a file or folder
  DataFormat format = DataFormat::automatic;
  std::optional<std::string> text_field;  // of JSON lines (text_source.h)
  bool mask_prompt = true;              // of lines with prompt and completion, only the completion is a target
  std::string tokenizer = "char";       // "char", "bpe:N", or a file (load_tokenizer)
  std::int64_t block_size = 0;          // the training text must hold one block and a target
  std::function<void(const std::string&)> warn;  // told of what was left out or replaced
};

struct Dataset {
  std::unique_ptr<Tokenizer> tokenizer;
  TokenShard train;
  std::optional<TokenShard> validation;  // nothing when its share is 0
  std::int64_t text_bytes = 0;           // of all text; 0 when opened again, or made of tokens
  std::int64_t files = 0;                // 0 when opened again
};

/// Looks at the files that `options` name and at their first bytes, so that most of what is wrong with them is known before a
/// run begins. UserError as find_data_files.
void check_data_files(const DatasetOptions& options);

/// Reads the data twice (to learn the tokenizer and check the text; to encode it), and writes the tokenizer's files, the shards
/// and data.json into `folder`. Every document stands in the tokenizer's frame (tokenizer.h), and its end of text follows. The validation
/// share is the end of the data: it begins at a character of a text file, at a JSON line, at a token. UserError for data that is missing,
/// empty, binary or too short, for token ids outside the tokenizer's vocabulary, and as the tokenizers.
Dataset build_dataset(const std::filesystem::path& folder, const DatasetOptions& options);

/// Opens what build_dataset wrote into `folder`. A shard that is gone is built again from the files that `options` name.
/// UserError when a part is damaged, or when those files no longer hold what they held.
Dataset open_dataset(const std::filesystem::path& folder, DatasetOptions options);

/// Whether build_dataset has finished in `folder`.
bool has_dataset(const std::filesystem::path& folder);

}  // namespace reprise
