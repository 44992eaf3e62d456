// SPDX-License-Identifier: Apache-2.0
// The stages of encoding, in the order of Hugging Face's tokenizers.
#include "tokenizer/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/word_cache.h"

namespace reprise {

namespace {

constexpr std::size_t kPiece = 65536;  // ids given to the sink at a time
constexpr std::size_t kSpread = 4;     // ids may leave gaps, but no id is this many times the number of tokens

/// Names that tell the token that ends a text, where nothing else does.
constexpr std::array<std::string_view, 4> kEndNames = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"};

std::optional<std::int32_t> end_by_name(const std::vector<AddedToken>& added) {
  for (const std::string_view name : kEndNames) {
    for (const AddedToken& token : added) {
      if (token.content == name) return token.id;
    }
  }
  return std::nullopt;
}

/// One encoding under way: the cache and the ids not yet given to the sink.
class Encoder {
 public:
  Encoder(const BpeModel& model, const TokenSink& sink) : model_(model), sink_(sink) {}

  void word(std::string_view text) {
    const std::uint64_t hash = WordCache::hash_of(text);
    if (const auto ids = cache_.find(text, hash); !ids.empty()) {
      ids_.insert(ids_.end(), ids.begin(), ids.end());
    } else {
      const std::size_t begin = ids_.size();
      model_.encode_word(text, ids_);
      cache_.remember(text, hash, std::span(ids_).subspan(begin));
    }
    if (ids_.size() >= kPiece) flush();
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
  const BpeModel& model_;
  const TokenSink& sink_;
  WordCache cache_;
  std::vector<std::int32_t> ids_;
};

BpeModel make_model(BpeTokenizerParts& parts, bool byte_level, const std::string& where) {
  try {
    return BpeModel(std::move(parts.vocabulary), parts.settings, byte_level ? BpeUnit::byte : BpeUnit::character);
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

std::string token_name(const BpeTokenizerParts& parts, const BpeVocabulary& vocabulary, std::int32_t id) {
  for (const AddedToken& token : parts.added) {
    if (token.id == id) return token.content;
  }
  return id >= 0 && static_cast<std::size_t>(id) < vocabulary.tokens.size() ? vocabulary.tokens[static_cast<std::size_t>(id)] : "";
}

BpeTokenizer::BpeTokenizer(BpeTokenizerParts parts, const std::string& where)
    : parts_(std::move(parts)),
      normalizer_(parts_.normalizer, where + ": normalizer"),
      pre_tokenizer_(parts_.pre_tokenizer, where + ": pre_tokenizer"),
      decoder_(parts_.decoder, where + ": decoder"),
      frame_(read_text_frame(parts_.post_processor, where + ": post_processor")),
      model_(make_model(parts_, pre_tokenizer_.byte_level(), where)) {
  if (parts_.settings.byte_fallback && pre_tokenizer_.byte_level()) {
    throw UserError(fmt::format("{}: model: byte_fallback behind a ByteLevel pre_tokenizer is not supported; turn one of them off", where));
  }
  place_added_tokens(where);
  if (!parts_.special.eos) parts_.special.eos = end_by_name(parts_.added);
  const auto require = [&](std::int32_t id, std::string_view what) {
    if (id < 0 || id >= vocab_size() || texts_[static_cast<std::size_t>(id)].empty()) {
      throw UserError(fmt::format("{}: {} names a token that is not there; take the tokenizer's own files; id {}", where, what, id));
    }
  };
  for (const auto* side : {&frame_.before, &frame_.after}) {
    for (const std::int32_t id : *side) require(id, "post_processor");
  }
  for (const auto& id : {parts_.special.bos, parts_.special.eos, parts_.special.pad}) {
    if (id) require(*id, "a special token");
  }
}

void BpeTokenizer::place_added_tokens(const std::string& where) {
  const auto& tokens = model_.vocabulary().tokens;
  texts_.assign(tokens.begin(), tokens.end());
  const std::size_t limit = kSpread * (tokens.size() + parts_.added.size());
  for (const AddedToken& token : parts_.added) {
    const auto id = static_cast<std::size_t>(token.id);
    if (token.id < 0 || id >= limit) {
      throw UserError(fmt::format("{}: the id of the added token \"{}\" is out of proportion to {} tokens: {}", where, token.content,
                                  tokens.size() + parts_.added.size(), token.id));
    }
    if (const auto own = model_.find(token.content); own && *own != token.id) {
      throw UserError(fmt::format("{}: added token \"{}\" has ids {} and {}: keep one", where, token.content, token.id, *own));
    }
    if (texts_.size() <= id) texts_.resize(id + 1);
    if (!texts_[id].empty() && texts_[id] != token.content) {
      throw UserError(fmt::format("{}: two tokens have the same id: \"{}\" and \"{}\", {}", where, texts_[id], token.content, id));
    }
    texts_[id] = token.content;
  }
  added_texts_.reserve(parts_.added.size());  // views of them stay valid
  for (const AddedToken& token : parts_.added) {
    std::string storage;
    const std::string_view text = token.normalized ? normalizer_.apply(token.content, storage) : token.content;
    texts_[static_cast<std::size_t>(token.id)] = added_texts_.emplace_back(text);
  }
  // Special ones first: of two tokens written alike the first counts.
  for (const bool special : {true, false}) {
    for (const AddedToken& token : parts_.added) {
      if (token.special != special) continue;
      AddedTokenFinder& finder = token.normalized ? normalized_finder_ : raw_finder_;
      finder.add(token, std::string(texts_[static_cast<std::size_t>(token.id)]));
    }
  }
}

void BpeTokenizer::encode_to(std::string_view text, const TokenSink& sink) const {
  Encoder encoder(model_, sink);
  const auto on_token = [&](std::int32_t id) { encoder.token(id); };
  const WordSink on_word = [&](std::string_view word) { encoder.word(word); };
  const auto words = [&](std::string_view piece, bool at_start) {
    if (!pre_tokenizer_.keeps_text_whole()) return pre_tokenizer_.cut(piece, at_start, on_word);
    for (std::size_t begin = 0; begin < piece.size();) {
      const std::size_t end = model_.cut_behind(piece, begin);
      encoder.word(piece.substr(begin, end - begin));
      begin = end;
    }
  };
  raw_finder_.cut(
      text,
      [&](std::string_view piece, std::size_t place) {
        std::string storage;
        const std::string_view normal = normalizer_.apply(piece, storage);
        normalized_finder_.cut(normal, [&](std::string_view part, std::size_t at) { words(part, place == 0 && at == 0); }, on_token);
      },
      on_token);
  encoder.flush();
}

std::string_view BpeTokenizer::token(std::int32_t id) const {
  if (id < 0 || id >= vocab_size()) throw UserError(fmt::format("token id is outside the vocabulary of {}: {}", vocab_size(), id));
  const std::string_view text = texts_[static_cast<std::size_t>(id)];
  if (text.empty()) throw UserError(fmt::format("no token of the vocabulary has the id {}", id));
  return text;
}

std::string BpeTokenizer::to_json() const { return write_bpe_json(parts_, model_.vocabulary()); }

std::string BpeTokenizer::to_config_json() const {
  const SpecialTokens& special = parts_.special;
  if (special == SpecialTokens{.bos = {}, .eos = end_by_name(parts_.added), .pad = {}}) return "";
  return write_special_tokens(special, [&](std::int32_t id) { return token_name(parts_, model_.vocabulary(), id); });
}

}  // namespace reprise
