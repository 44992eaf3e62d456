// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE tokenizers from tables that name no components: the trainer's, a GGUF file's, a .tiktoken file's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe_model.h"
#include "tokenizer/tokenizer.h"

namespace reprise {

/// The special token that stands between documents.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// How text is cut into words.
enum class WordPattern {
  gpt2,    // GPT-2's pattern (word_patterns.h)
  digits,  // single digits apart, then GPT-2's pattern: SmolLM, StarCoder
  llama3,
  qwen2,
};

struct ByteLevelBpe {
  BpeVocabulary vocabulary;           // in the byte alphabet; added tokens as they are
  WordPattern pattern = WordPattern::gpt2;
  bool ignore_merges = false;         // as Llama 3 has it
  std::vector<std::int32_t> special;  // ids of added tokens that control the model
  std::vector<std::int32_t> added;    // ids of added tokens that write text
  SpecialTokens roles;                // an eos not set is found by its name among the added tokens
  bool add_bos = false;               // puts bos before a text
  bool add_eos = false;               // puts eos behind it
};

/// Returns the tokenizer. UserError, starting with `where`, when the vocabulary is not whole (BpeModel), a role or added token's id
/// is none of its ids, or add_bos or add_eos has no such token.
std::unique_ptr<Tokenizer> make_byte_level_bpe(ByteLevelBpe bpe, const std::string& where);

/// Returns the ids of merges written "left right", as GGUF and merges.txt have them. UserError, starting with `where`, for one that
/// is not two tokens of `tokens`.
std::vector<std::pair<std::int32_t, std::int32_t>> parse_merges(std::span<const std::string> merges, std::span<const std::string> tokens,
                                                                const std::string& where);

}  // namespace reprise
