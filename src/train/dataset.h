// SPDX-License-Identifier: Apache-2.0
// From text files to what training reads: a tokenizer and the token shards of the training and validation text, kept in
// the run's folder so that a resumed run needs the text no more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "train/token_shards.h"

namespace reprise {

struct DatasetOptions {
  std::vector<std::string> paths;       // text files to train on
  std::string validation = "0.1";       // a share of the training text, or a text file
  std::string tokenizer = "char";       // "char", "bpe:N", or a file (load_tokenizer)
  std::int64_t block_size = 0;          // the training text must hold one block and a target
  std::function<void(std::string)> warn;  // told of text that was not valid UTF-8
};

struct Dataset {
  std::unique_ptr<Tokenizer> tokenizer;
  TokenShard train;
  std::optional<TokenShard> validation;  // nothing when its share is 0
  std::int64_t text_bytes = 0;           // of all text; 0 when opened again
};

/// Loads the text, learns or reads the tokenizer, and writes its files, the shards and data.json into `folder`.
/// UserError for text that is missing, empty, binary or too short, and as the tokenizers.
Dataset build_dataset(const std::filesystem::path& folder, const DatasetOptions& options);

/// Opens what build_dataset wrote into `folder`. UserError when a part is missing or damaged.
Dataset open_dataset(const std::filesystem::path& folder);

/// Whether build_dataset has finished in `folder`.
bool has_dataset(const std::filesystem::path& folder);

}  // namespace reprise
