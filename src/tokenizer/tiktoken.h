// SPDX-License-Identifier: Apache-2.0
// .tiktoken files: one token a line, its bytes in base64, a space, its rank, which is its id. Such a file says neither how text is
// cut nor what the special tokens are: both follow from the number of tokens, for the files that are known.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/byte_level_bpe.h"
#include "tokenizer/tokenizer.h"

namespace reprise {

struct TiktokenFormat {
  WordPattern pattern = WordPattern::gpt2;
  std::vector<std::string> special;  // take the ids behind the ranks
  std::optional<std::size_t> bos;    // place in `special`; put before every text
  std::size_t eos = 0;               // place in `special`
};

/// Returns the format of the file with so many tokens: 50256 is GPT-2's, 128000 Llama 3's, 151643 Qwen's. UserError, starting with
/// `path`, for any other.
TiktokenFormat tiktoken_format(std::size_t tokens, const std::string& path);

/// Reads a file's text. Pairs merge by the rank of what they make, as in tiktoken. UserError naming path and line.
std::unique_ptr<Tokenizer> parse_tiktoken(std::string_view text, const std::string& path);
std::unique_ptr<Tokenizer> parse_tiktoken(std::string_view text, const std::string& path, const TiktokenFormat& format);

}  // namespace reprise
