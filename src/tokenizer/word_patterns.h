// SPDX-License-Identifier: Apache-2.0
// The patterns that cut text into words by hand-written code. Walking from 0, the words are the pattern's matches and cover the
// text. Invalid UTF-8 counts as neither letter, number nor space.
#pragma once

#include <cstddef>
#include <string_view>

namespace reprise {

/// GPT-2's.
inline constexpr std::string_view kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
/// Llama 3's, with up to three digits together, and Qwen 2's, with one.
inline constexpr std::string_view kLlama3Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
inline constexpr std::string_view kQwen2Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/// Returns the end of the match that starts at byte `begin` (begin < text.size()).
std::size_t gpt2_word_end(std::string_view text, std::size_t begin);
std::size_t llama3_word_end(std::string_view text, std::size_t begin);
std::size_t qwen2_word_end(std::string_view text, std::size_t begin);

}  // namespace reprise
