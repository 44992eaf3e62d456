// SPDX-License-Identifier: Apache-2.0
// BPE with all that a tokenizer.json may put around it: added tokens, a normalizer, a pre_tokenizer, a post_processor, a decoder.
#pragma once

#include <string>
#include <vector>

#include "io/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe_model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace reprise {

/// A BPE tokenizer as data.
struct BpeTokenizerParts {
  BpeVocabulary vocabulary;
  BpeSettings settings;
  std::vector<AddedToken> added;  // ids of the vocabulary where it has their content, else others
  Json normalizer;                // these four as in tokenizer.json; null: none
  Json pre_tokenizer;
  Json post_processor;
  Json decoder;
  SpecialTokens special;          // eos is found by its name among the added tokens when it is not set

  friend bool operator==(const BpeTokenizerParts&, const BpeTokenizerParts&) = default;
};

/// Returns how a token is named: an added token's content, else the vocabulary's token; empty when there is none.
std::string token_name(const BpeTokenizerParts& parts, const BpeVocabulary& vocabulary, std::int32_t id);

class BpeTokenizer final : public Tokenizer {
 public:
  /// UserError, starting with `where`, when a component is not supported, the vocabulary is not whole (BpeModel), or an added
  /// token's id is another token's.
  BpeTokenizer(BpeTokenizerParts parts, const std::string& where);

  std::string_view kind() const override { return "bpe"; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(texts_.size()); }
  const SpecialTokens& special_tokens() const override { return parts_.special; }
  const TextFrame& frame() const override { return frame_; }
  /// Added tokens are found in the text first, those that ask for it in the normalized text next; the rest is cut into words.
  void encode_to(std::string_view text, const TokenSink& sink) const override;
  std::string_view token(std::int32_t id) const override;
  const TokenDecoder& decoder() const override { return decoder_; }
  std::string to_json() const override;
  std::string to_config_json() const override;

  /// The parts, the vocabulary apart.
  const BpeTokenizerParts& parts() const { return parts_; }
  const BpeVocabulary& vocabulary() const { return model_.vocabulary(); }

 private:
  void place_added_tokens(const std::string& where);

  BpeTokenizerParts parts_;  // its vocabulary is moved into the model
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  TokenDecoder decoder_;
  TextFrame frame_;
  BpeModel model_;
  std::vector<std::string> added_texts_;  // of the added tokens, normalized where they ask for it
  std::vector<std::string_view> texts_;   // by id, into the vocabulary and added_texts_; empty: no such token
  AddedTokenFinder raw_finder_;           // of tokens found in the text as it is
  AddedTokenFinder normalized_finder_;    // of those found in the normalized text
};

}  // namespace reprise
