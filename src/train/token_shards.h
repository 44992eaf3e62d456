// SPDX-License-Identifier: Apache-2.0
// Token shards: a text's token ids in a file that is built once and mapped afterwards.
//
// The format, version 1; integers are little-endian:
//   offset  bytes
//        0      8  "RPRTOKEN"
//        8      4  format version, 1
//       12      4  bytes of a token, 2 or 4 (4 when the vocabulary has more than 65,536 tokens)
//       16      8  number of tokens
//       24      8  hash of the documents: XXH3 of each one's length (8 bytes) and bytes, in order
//       32      8  fingerprint of the tokenizer (tokenizer.h)
//       40      8  XXH3 of the tokens' bytes
//       48      8  size of the vocabulary
//       56      8  XXH3 of the 56 bytes above
//       64      -  the tokens
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/mapped_file.h"
#include "tokenizer/tokenizer.h"
#include "train/token_view.h"

namespace reprise {

/// A shard, mapped. Its tokens stay valid while it, or what it was moved to, lives.
class TokenShard {
 public:
  /// Opens `path` and reads it through once to verify it. UserError, saying how to rebuild, when it is missing, no shard, of a
  /// newer format, cut short, damaged, or made with another tokenizer than `tokenizer`.
  static TokenShard open(const std::filesystem::path& path, const Tokenizer& tokenizer);

  TokenView tokens() const { return tokens_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  MappedFile file_;
  TokenView tokens_;
};

/// Encodes `documents`, with the tokenizer's end of text between them if it has one, and writes a shard atomically.
void write_shard(const std::filesystem::path& path, std::span<const std::string_view> documents, const Tokenizer& tokenizer);

/// Opens the shard of (`documents`, `tokenizer`) in `folder`, building it first when it is not there (and the folder too).
/// Its name is LABEL-KEY.tokens, KEY a hash of documents and tokenizer. UserError as TokenShard::open and Tokenizer::encode_to.
TokenShard open_or_build_shard(const std::filesystem::path& folder, std::string_view label,
                               std::span<const std::string_view> documents, const Tokenizer& tokenizer);

}  // namespace reprise
