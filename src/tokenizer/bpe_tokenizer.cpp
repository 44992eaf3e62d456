// SPDX-License-Identifier: Apache-2.0
// Encoding remembers the ids of the words it has met, since text repeats a few words most of the time.
#include "tokenizer/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer_json.h"

namespace reprise {

namespace {

constexpr std::size_t kPiece = 65536;            // ids given to the sink at a time
constexpr std::size_t kLongestCachedWord = 64;   // bytes; longer ones hardly repeat
constexpr std::size_t kMostCachedWords = 1 << 18;

/// One encoding under way: the cache and the ids not yet given to the sink.
class Encoder {
 public:
  Encoder(const BpeModel& model, const TokenSink& sink) : model_(model), sink_(sink) {}

  void words_of(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = gpt2_word_end(text, begin);
      word(text.substr(begin, end - begin));
      begin = end;
    }
  }

  void token(std::int32_t id) {
    ids_.push_back(id);
    if (ids_.size() >= kPiece) flush();
  }

  void flush() {
    if (!ids_.empty()) sink_(ids_);
    ids_.clear();
  }

 private:
  struct Cached {
    std::size_t begin;  // in cached_ids_
    std::size_t count;
  };

  void word(std::string_view bytes) {
    if (const auto found = cache_.find(bytes); found != cache_.end()) {
      const auto first = cached_ids_.begin() + static_cast<std::ptrdiff_t>(found->second.begin);
      ids_.insert(ids_.end(), first, first + static_cast<std::ptrdiff_t>(found->second.count));
    } else {
      const std::size_t begin = ids_.size();
      model_.encode_word(bytes, ids_);
      if (bytes.size() <= kLongestCachedWord && cache_.size() < kMostCachedWords) {
        cache_.emplace(bytes, Cached{cached_ids_.size(), ids_.size() - begin});
        cached_ids_.insert(cached_ids_.end(), ids_.begin() + static_cast<std::ptrdiff_t>(begin), ids_.end());
      }
    }
    if (ids_.size() >= kPiece) flush();
  }

  const BpeModel& model_;
  const TokenSink& sink_;
  std::unordered_map<std::string_view, Cached> cache_;  // views into the text
  std::vector<std::int32_t> cached_ids_;
  std::vector<std::int32_t> ids_;
};

/// Finds added tokens in a text, in order; each is searched for once from where its last find ended to lie behind.
class AddedTokens {
 public:
  AddedTokens(const BpeVocabulary& vocabulary, std::string_view text) : text_(text) {
    for (const std::int32_t id : vocabulary.added) {
      const std::string_view token = vocabulary.tokens[static_cast<std::size_t>(id)];
      tokens_.push_back({token, id, text.find(token)});
    }
  }

  struct Found {
    std::size_t position = std::string_view::npos;
    std::size_t length = 0;
    std::int32_t id = -1;
  };

  /// Returns the first at or after `from`, the longest of those that start there.
  Found next(std::size_t from) {
    Found best;
    for (Token& token : tokens_) {
      if (token.position == std::string_view::npos) continue;
      if (token.position < from) token.position = text_.find(token.text, from);
      if (token.position == std::string_view::npos) continue;
      if (token.position < best.position || (token.position == best.position && token.text.size() > best.length)) {
        best = {token.position, token.text.size(), token.id};
      }
    }
    return best;
  }

 private:
  struct Token {
    std::string_view text;
    std::int32_t id;
    std::size_t position;
  };

  std::string_view text_;
  std::vector<Token> tokens_;
};

}  // namespace

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary) : model_(std::move(vocabulary)) {
  for (const std::int32_t id : model_.vocabulary().added) {
    if (model_.vocabulary().tokens[static_cast<std::size_t>(id)] == kEndOfText) end_of_text_ = id;
  }
}

void BpeTokenizer::encode_to(std::string_view text, const TokenSink& sink) const {
  Encoder encoder(model_, sink);
  AddedTokens added(model_.vocabulary(), text);
  for (std::size_t position = 0; position < text.size();) {
    const AddedTokens::Found found = added.next(position);
    encoder.words_of(text.substr(position, std::min(found.position, text.size()) - position));
    if (found.id < 0) break;
    encoder.token(found.id);
    position = found.position + found.length;
  }
  encoder.flush();
}

void BpeTokenizer::append_bytes(std::int32_t id, std::string& bytes) const {
  if (id < 0 || id >= vocab_size()) {
    throw UserError(fmt::format("token id is outside the vocabulary of {}: {}", vocab_size(), id));
  }
  bytes += model_.vocabulary().tokens[static_cast<std::size_t>(id)];
}

std::string BpeTokenizer::to_json() const { return write_bpe_json(model_.vocabulary()); }

}  // namespace reprise
