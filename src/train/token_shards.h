// SPDX-License-Identifier: Apache-2.0
// Token shards: a text's token ids in a file that is built once and mapped afterwards.
//
// The format, version 2; integers are little-endian:
//   offset  bytes
//        0      8  "RPRTOKEN"
//        8      4  format version, 2
//       12      4  bytes of a token, 2 or 4 (4 when the vocabulary has more than 65,536 tokens)
//       16      8  number of tokens
//       24      8  number of documents
//       32      8  1 when there are target bits, else 0
//       40      8  key: a hash of everything the tokens were made from (dataset.h)
//       48      8  fingerprint of the tokenizer (tokenizer.h)
//       56      8  size of the vocabulary
//       64      8  XXH3 of all bytes behind the header
//       72      8  XXH3 of the 72 bytes above
//       80      -  the tokens, then zeros to a multiple of 8 bytes
//        -      -  for each document the index of its first token, 8 bytes: 0, then ascending
//        -      -  target bits, when there are some: bit i % 8 of byte i / 8 is 1 when token i is to be learned (its loss counts
//                  where it is the target), then zeros to a multiple of 8 bytes
// Version 1 had no documents and no target bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/mapped_file.h"
#include "tokenizer/tokenizer.h"
#include "train/token_view.h"

namespace reprise {

/// A shard, mapped. Its tokens stay valid while it, or what it was moved to, lives.
class TokenShard {
 public:
  /// Opens `path` and reads it through once to verify it. UserError, saying how to rebuild, when it is missing, no shard, of
  /// another format version, cut short, damaged, or made with another tokenizer than `tokenizer`.
  static TokenShard open(const std::filesystem::path& path, const Tokenizer& tokenizer);

  const TokenView& tokens() const { return tokens_; }
  /// The index of each document's first token, ascending from 0. A document's end is the next one's start.
  std::span<const std::uint64_t> documents() const { return documents_; }
  std::uint64_t key() const { return key_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  MappedFile file_;
  TokenView tokens_;
  std::span<const std::uint64_t> documents_;
  std::uint64_t key_ = 0;
};

/// Checks the bytes of a shard but for its tokenizer, and finds its parts; `name` is for errors. What TokenShard::open does with
/// a file's bytes.
struct ShardParts {
  TokenView tokens;
  std::span<const std::uint64_t> documents;
  std::uint64_t key = 0, tokenizer_fingerprint = 0, vocabulary_size = 0;
};
ShardParts parse_shard(std::span<const std::byte> bytes, const std::string& name);

/// Writes a shard token by token; it appears when it is finished. Nothing is kept in memory.
class ShardWriter {
 public:
  /// Documents and target bits wait in a spool file beside `path`.
  ShardWriter(const std::filesystem::path& path, const Tokenizer& tokenizer, std::uint64_t key);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  /// The next token begins a document. One without tokens is none.
  void begin_document();
  /// Adds tokens, which are to be learned or only read.
  void add(std::span<const std::int32_t> ids, bool target = true);
  /// Number of tokens so far.
  std::int64_t size() const;
  /// Makes the shard appear.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The file of a shard: LABEL-KEY.tokens, KEY in hexadecimal.
std::filesystem::path shard_path(const std::filesystem::path& folder, std::string_view label, std::uint64_t key);

}  // namespace reprise
