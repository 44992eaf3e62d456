// SPDX-License-Identifier: Apache-2.0
// Characters to ids by table for ASCII and by hash for the rest.
#include "tokenizer/char_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "io/json.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::size_t kPiece = 65536;  // ids given to the sink at a time

/// Returns how an error shows a character: itself when it can be printed, else nothing but its number.
std::string shown(char32_t character) {
  std::string text;
  if (character >= 0x20 && character != 0x7F && !(character >= 0x80 && character < 0xA0)) {
    text += '\'';
    append_utf8(text, character);
    text += "' ";
  }
  return text + fmt::format("(U+{:04X})", static_cast<std::uint32_t>(character));
}

}  // namespace

void TextCharacters::add(std::string_view text) {
  for (std::size_t position = 0; position < text.size();) {
    const auto byte = static_cast<std::uint8_t>(text[position]);
    if (byte < 128) {
      ascii_[byte] = true;
      ++position;
      continue;
    }
    const Utf8Step step = read_utf8(text, position);
    others_.insert(step.code_point);
    position += step.length;
  }
}

std::vector<char32_t> TextCharacters::ascending() const {
  std::vector<char32_t> characters;
  for (std::size_t i = 0; i < ascii_.size(); ++i) {
    if (ascii_[i]) characters.push_back(static_cast<char32_t>(i));
  }
  characters.insert(characters.end(), others_.begin(), others_.end());
  return characters;
}

CharTokenizer::CharTokenizer(std::vector<char32_t> characters)
    : characters_(std::move(characters)), decoder_(Json::object({{"type", "Fuse"}}), "decoder") {
  REPRISE_CHECK(std::is_sorted(characters_.begin(), characters_.end(), std::less_equal<>()),
                "characters must ascend without repeats");
  for (std::size_t id = 0; id < characters_.size(); ++id) {
    ids_.emplace(characters_[id], static_cast<std::int32_t>(id));
    append_utf8(texts_.emplace_back(), characters_[id]);
  }
}

void CharTokenizer::encode_to(std::string_view text, const TokenSink& sink) const {
  std::array<std::int32_t, 128> ascii;
  ascii.fill(-1);
  for (std::size_t id = 0; id < characters_.size() && characters_[id] < 128; ++id) {
    ascii[characters_[id]] = static_cast<std::int32_t>(id);
  }
  std::vector<std::int32_t> ids;
  ids.reserve(std::min(text.size(), kPiece));
  for (std::size_t position = 0; position < text.size();) {
    const auto byte = static_cast<std::uint8_t>(text[position]);
    const Utf8Step step = byte < 128 ? Utf8Step{byte, 1, true, false} : read_utf8(text, position);
    std::int32_t id = -1;
    if (step.code_point < 128) {
      id = ascii[step.code_point];
    } else if (const auto found = ids_.find(step.code_point); found != ids_.end()) {
      id = found->second;
    }
    if (id < 0) {
      throw UserError(
          fmt::format("character {} is not among the {} characters the tokenizer learned: leave it out, or train with a text "
                      "that holds it or with --tokenizer bpe:N; byte offset {}",
                      shown(step.code_point), characters_.size(), position));
    }
    ids.push_back(id);
    if (ids.size() == kPiece) {
      sink(ids);
      ids.clear();
    }
    position += step.length;
  }
  if (!ids.empty()) sink(ids);
}

std::string_view CharTokenizer::token(std::int32_t id) const {
  if (id < 0 || id >= vocab_size()) throw UserError(fmt::format("token id is outside the vocabulary of {}: {}", vocab_size(), id));
  return texts_[static_cast<std::size_t>(id)];
}

std::string CharTokenizer::to_json() const { return write_char_json(characters_); }

}  // namespace reprise
