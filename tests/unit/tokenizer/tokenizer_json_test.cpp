// SPDX-License-Identifier: Apache-2.0
// What parse_tokenizer refuses: each test changes one component of a good file.
#include "tokenizer/tokenizer_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "io/json.h"
#include "support/expect_error.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace reprise {
namespace {

Json good(std::string_view spec) {
  const std::string_view text = "ab ab";
  return parse_json(learn_tokenizer(spec, std::span(&text, 1))->to_json(), "good");
}

/// Loads the bpe file with `key` of the outer object replaced.
void load_with(std::string_view key, const Json& value) {
  Json root = good("bpe:258");
  root.set(key, value);
  parse_tokenizer(write_json(root), "t.json");
}

/// Loads the file of `spec` with `key` of its model replaced.
void load_with_model(std::string_view spec, std::string_view key, const Json& value) {
  Json root = good(spec);
  Json model = *root.find("model");
  model.set(key, value);
  root.set("model", model);
  parse_tokenizer(write_json(root), "t.json");
}

TEST(TokenizerJson, RefusesComponentsByName) {
  EXPECT_USER_ERROR(load_with("truncation", Json::object({{"max_length", 8}})), "t.json: truncation is not supported");
  EXPECT_USER_ERROR(load_with("padding", Json::object()), "padding is not supported");
  EXPECT_USER_ERROR(load_with("normalizer", Json::object({{"type", "NFC"}})), "normalizer NFC is not supported");
  EXPECT_USER_ERROR(load_with("pre_tokenizer", nullptr), "a model without pre_tokenizer is not supported");
  const Json without_regex = Json::object({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  EXPECT_USER_ERROR(load_with("pre_tokenizer", without_regex),
                    "pre_tokenizer ByteLevel without use_regex is not supported");
  EXPECT_USER_ERROR(load_with("pre_tokenizer", Json::object({{"type", "ByteLevel"}})), "with add_prefix_space is not supported");
  EXPECT_USER_ERROR(load_with("post_processor", Json::object()), "post_processor without a type is not supported");
  EXPECT_USER_ERROR(load_with("decoder", nullptr), "a model without decoder is not supported");
  EXPECT_USER_ERROR(load_with("decoder", Json::object({{"type", "WordPiece"}})), "decoder WordPiece is not supported");
  EXPECT_USER_ERROR(load_with("model", Json::object({{"type", "Unigram"}})), "model Unigram is not supported");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "dropout", 0.1), "model BPE with dropout is not supported");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "byte_fallback", true), "model BPE with byte_fallback is not supported");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "ignore_merges", true), "model BPE with ignore_merges is not supported");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "end_of_word_suffix", "</w>"), "with end_of_word_suffix is not supported");
  const Json lstrip = Json::object({{"id", 0}, {"content", "<|endoftext|>"}, {"lstrip", true}});
  EXPECT_USER_ERROR(load_with("added_tokens", Json::array({lstrip})),
                    "added token \"<|endoftext|>\" with lstrip is not supported");
  load_with("post_processor", Json::object({{"type", "ByteLevel"}}));  // GPT-2's own file has it; it changes no id
}

TEST(TokenizerJson, RefusesTablesThatAreNotWhole) {
  EXPECT_USER_ERROR(parse_tokenizer("{", "t.json"), "t.json");
  EXPECT_USER_ERROR(parse_tokenizer("{}", "t.json"), "t.json: not a whole tokenizer.json: \"model\" must be an object");
  EXPECT_USER_ERROR(load_with("added_tokens", 3), "\"added_tokens\" must be an array");
  EXPECT_USER_ERROR(load_with("added_tokens", Json::array({Json::object()})), "needs \"content\" and \"id\"");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "vocab", 3), "\"vocab\" must be an object");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", nullptr), "\"merges\" must be an array");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", Json::array({"a"})), "[\"left\", \"right\"] or \"left right\"");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", Json::array({"a abc"})), "names a token that is not in \"vocab\"");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", Json::array({"a a"})), "t.json: BPE vocabulary lacks the token \"aa\"");
  load_with_model("bpe:258", "merges", Json::array({"a b"}));  // the older way to write merges
}

void load_with_token(std::string_view token, const Json& id) {
  Json root = good("bpe:258");
  Json vocab = *root.find("model")->find("vocab");
  vocab.set(token, id);
  Json model = *root.find("model");
  model.set("vocab", vocab);
  root.set("model", model);
  parse_tokenizer(write_json(root), "t.json");
}

TEST(TokenizerJson, RefusesIdsWithGaps) {
  EXPECT_USER_ERROR(load_with_token("new", 300), "ids must run from 0 to 258 without gaps; found id 300");
  EXPECT_USER_ERROR(load_with_token("new", 257), "two tokens have the same id 257");
  EXPECT_USER_ERROR(load_with_token("new", "x"), "the id of \"new\" must be an integer");
  EXPECT_USER_ERROR(load_with_token("n w", 258), "token \"n w\", which is not written in the byte alphabet, is not supported");
  EXPECT_USER_ERROR(load_with_token("<|endoftext|>", 258), "added token \"<|endoftext|>\" has ids 0 and 258");
  EXPECT_USER_ERROR(load_with_token("\u0120ab", 5'000'000'000), "found id 5000000000");
  load_with_token("new", 258);
}

TEST(TokenizerJson, RefusesCharacterTablesOutOfOrder) {
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object()), "\"vocab\" is empty");
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object({{"ab", 0}})),
                    "\"ab\" of model reprise_char must be one character");
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object({{"b", 0}, {"a", 1}})), "by ascending code point; at \"a\"");
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object({{"a", 0}, {"b", 2}})), "must list ids 0, 1, 2");
  const Json added = Json::array({Json::object({{"id", 0}, {"content", "a"}})});
  Json root = good("char");
  root.set("added_tokens", added);
  EXPECT_USER_ERROR(parse_tokenizer(write_json(root), "t.json"), "model reprise_char with added tokens is not supported");
  root = good("char");
  root.set("decoder", Json::object({{"type", "ByteLevel"}}));
  EXPECT_USER_ERROR(parse_tokenizer(write_json(root), "t.json"), "decoder ByteLevel is not supported");
}

/// Good files with bytes changed, cut and doubled: each is read, or refused with a UserError, and never more.
TEST(TokenizerJson, AnyDamageIsAUserError) {
  std::mt19937 random(17);
  for (const std::string_view spec : {"char", "bpe:258"}) {
    const std::string whole = write_json(good(spec));
    for (int round = 0; round < 400; ++round) {
      std::string text = whole;
      for (unsigned change = 0; change <= random() % 3; ++change) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
          case 0: text[at] = static_cast<char>(static_cast<std::uint8_t>(random())); break;
          case 1: text.erase(at, 1 + random() % 20); break;
          case 2: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
          default: text[at] = "0123456789\"{}[],:-"[random() % 18]; break;
        }
      }
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
  }
}

}  // namespace
}  // namespace reprise
