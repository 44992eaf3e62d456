// SPDX-License-Identifier: Apache-2.0
// Files of token ids that other tools made.
//
// llm.c: 256 little-endian 32-bit integers, of which the first three are the magic number, the version and the number of tokens,
// then the tokens: 20240520, version 1, 16 bits each; or 20240801, version 7, 32 bits each. A document starts with the end of
// text. nanoGPT: 16-bit tokens and nothing else; a document ends with the end of text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "io/mapped_file.h"
#include "train/data_files.h"
#include "train/token_view.h"

namespace reprise {

/// Whether a file that starts with `bytes` has the magic number of llm.c.
bool has_llm_c_header(std::span<const std::byte> bytes);

class TokenFile {
 public:
  /// Opens a file of format llm_c or nanogpt; `spool` as open_data_file. UserError when it is empty, cut short, too long, of
  /// another magic number or version, or has an odd number of bytes.
  static TokenFile open(const DataFile& file, const std::filesystem::path& spool);

  const TokenView& tokens() const { return tokens_; }

 private:
  MappedFile file_;
  TokenView tokens_;
};

}  // namespace reprise
