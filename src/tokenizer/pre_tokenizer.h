// SPDX-License-Identifier: Apache-2.0
// GPT-2's pre-tokenizer: cuts text into words inside which byte pairs are merged, never across.
#pragma once

#include <cstddef>
#include <string_view>

namespace reprise {

/// Returns the end of the word that starts at byte `begin` (begin < text.size()). Walking from 0, the words are the matches
/// of 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ and cover the text. Invalid UTF-8 counts as
/// neither letter, number nor space.
std::size_t gpt2_word_end(std::string_view text, std::size_t begin);

}  // namespace reprise
