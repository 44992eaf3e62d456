// SPDX-License-Identifier: Apache-2.0
// tokenizer.json, the Hugging Face form, for the tokenizers we have. Reading refuses, by name, every component that would
// make ids differ from ours; it ignores none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe_model.h"

namespace reprise {

/// Returns the tokenizer.json of a byte-level BPE with GPT-2's pre-tokenizer.
std::string write_bpe_json(const BpeVocabulary& vocabulary);
/// Returns the tokenizer.json of a character tokenizer (its form: char_tokenizer.h).
std::string write_char_json(const std::vector<char32_t>& characters);

}  // namespace reprise
