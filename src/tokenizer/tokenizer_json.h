// SPDX-License-Identifier: Apache-2.0
// tokenizer.json and tokenizer_config.json, the Hugging Face forms, for the tokenizers we have. Reading refuses, by name, every
// component that would make ids differ; it ignores none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe_tokenizer.h"

namespace reprise {

/// Returns the tokenizer.json of a BPE tokenizer; its vocabulary stands apart from its other parts.
std::string write_bpe_json(const BpeTokenizerParts& parts, const BpeVocabulary& vocabulary);
/// Returns the tokenizer.json of a character tokenizer (its form: char_tokenizer.h).
std::string write_char_json(const std::vector<char32_t>& characters);
/// Returns a tokenizer_config.json that names the special tokens; `name_of` gives a token's name.
std::string write_special_tokens(const SpecialTokens& special, const std::function<std::string(std::int32_t)>& name_of);

/// Reads a tokenizer.json together with the texts of the tokenizer_config.json and special_tokens_map.json beside it (empty:
/// there is none); paths are for errors. The first names special tokens, and add_bos_token and add_eos_token in it decide over
/// the frame; the second names those that the first leaves open.
struct TokenizerFiles {
  std::string path;
  std::string json;
  std::string config_path;
  std::string config;
  std::string map_path;
  std::string map;
};
std::unique_ptr<Tokenizer> parse_tokenizer_files(const TokenizerFiles& files);

}  // namespace reprise
