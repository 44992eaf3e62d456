// SPDX-License-Identifier: Apache-2.0
// The order of decisions is that of Hugging Face's added vocabulary: a find that is no single word is passed over whole, and
// white space goes to the earlier of two tokens that both ask for it.
#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "tokenizer/unicode_classes.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

/// Returns the start of the character that ends before `end` (end > 0).
std::size_t character_before(std::string_view text, std::size_t end) {
  const std::size_t earliest = end > 4 ? end - 4 : 0;
  for (std::size_t begin = end - 1; begin + 1 > earliest; --begin) {
    if ((static_cast<std::uint8_t>(text[begin]) & 0xC0u) != 0x80u) {
      const Utf8Step step = read_utf8(text, begin);
      return step.valid && begin + step.length == end ? begin : end - 1;
    }
    if (begin == 0) break;
  }
  return end - 1;
}

bool is_word_at(std::string_view text, std::size_t position) {
  const Utf8Step step = read_utf8(text, position);
  return step.valid && is_unicode_word(step.code_point);
}

bool is_space_at(std::string_view text, std::size_t position) {
  const Utf8Step step = read_utf8(text, position);
  return step.valid && is_unicode_space(step.code_point);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_at(text, character_before(text, begin))) && (end == text.size() || !is_word_at(text, end));
}

}  // namespace

void AddedTokenFinder::add(const AddedToken& token, std::string written) {
  if (written.empty()) return;
  starts_[static_cast<std::uint8_t>(written[0])] = true;
  std::size_t node = 0;
  for (const char byte : written) {
    const auto [edge, inserted] = edges_.emplace(node * 256 + static_cast<std::uint8_t>(byte), ends_.size());
    if (inserted) ends_.push_back(kNoPattern);
    node = edge->second;
  }
  if (ends_[node] != kNoPattern) return;  // of two written alike the first counts
  ends_[node] = patterns_.size();
  patterns_.push_back({token, written.size()});
}

const AddedTokenFinder::Pattern* AddedTokenFinder::longest_at(std::string_view text, std::size_t position) const {
  std::size_t found = kNoPattern;
  for (std::size_t node = 0; position < text.size(); ++position) {
    const auto edge = edges_.find(node * 256 + static_cast<std::uint8_t>(text[position]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (ends_[node] != kNoPattern) found = ends_[node];
  }
  return found == kNoPattern ? nullptr : &patterns_[found];
}

void AddedTokenFinder::cut(std::string_view text, const std::function<void(std::string_view, std::size_t)>& on_text,
                           const std::function<void(std::int32_t)>& on_token) const {
  std::size_t done = 0;  // text before it is given out
  for (std::size_t position = 0; position < text.size() && !patterns_.empty();) {
    const Pattern* found = starts_[static_cast<std::uint8_t>(text[position])] ? longest_at(text, position) : nullptr;
    if (found == nullptr) {
      ++position;
      continue;
    }
    std::size_t begin = position;
    std::size_t end = position + found->length;
    position = end;
    if (found->token.single_word && !stands_alone(text, begin, end)) continue;
    if (found->token.lstrip) {
      while (begin > done) {
        const std::size_t before = character_before(text, begin);
        if (before < done || !is_space_at(text, before)) break;
        begin = before;
      }
    }
    if (found->token.rstrip) {
      while (end < text.size() && is_space_at(text, end)) end += read_utf8(text, end).length;
    }
    if (done < begin) on_text(text.substr(done, begin - done), done);
    on_token(found->token.id);
    done = end;
  }
  if (done < text.size()) on_text(text.substr(done), done);
}

}  // namespace reprise
