// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "io/file_write.h"
#include "io/json.h"
#include "support/reference_directory.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/char_tokenizer.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> learn(std::string_view spec, std::string_view text) {
  return learn_tokenizer(spec, std::span(&text, 1));
}

constexpr std::string_view kText = "the cat sat on the mat; the hat sat on the cat. l\u2019\u00E9t\u00E9, l\u2019\u00E9t\u00E9!";

TEST(CharTokenizer, NumbersCharactersInAscendingOrder) {
  const auto tokenizer = learn("char", "ba\u00E9b \U0001F600\n");
  EXPECT_EQ(tokenizer->kind(), "char");
  EXPECT_EQ(tokenizer->vocab_size(), 6);
  EXPECT_EQ(tokenizer->end_of_text(), std::nullopt);
  EXPECT_EQ(tokenizer->encode("\n ab\u00E9\U0001F600"), (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tokenizer->decode(Ids{5, 4, 3}), "\U0001F600\u00E9b");
}

TEST(CharTokenizer, LearnsFromEveryDocument) {
  const std::vector<std::string_view> documents = {"ab", "cb"};
  EXPECT_EQ(learn_tokenizer("char", documents)->vocab_size(), 3);
}

TEST(CharTokenizer, NamesTheCharacterItDoesNotKnow) {
  const auto tokenizer = learn("char", "abc");
  EXPECT_USER_ERROR(tokenizer->encode("ab\u00E9"), "character '\u00E9' (U+00E9) is not among the 3 characters");
  EXPECT_USER_ERROR(tokenizer->encode("ab\u00E9"), "byte offset 2");
  EXPECT_USER_ERROR(tokenizer->encode("a\n"), "character (U+000A) is not among");
  EXPECT_USER_ERROR(tokenizer->encode("x"), "train with a text that holds it or with --tokenizer bpe:N");
}

TEST(CharTokenizer, LongTextsComeInPieces) {
  const auto tokenizer = learn("char", "ab");
  std::string text;
  for (int i = 0; i < 200'000; ++i) text.push_back(i % 3 == 0 ? 'a' : 'b');
  const Ids ids = tokenizer->encode(text);
  ASSERT_EQ(ids.size(), text.size());
  EXPECT_EQ(tokenizer->decode(ids), text);
}

TEST(BpeTokenizer, IsLossless) {
  const auto tokenizer = learn("bpe:270", kText);
  EXPECT_EQ(tokenizer->kind(), "bpe");
  EXPECT_EQ(tokenizer->vocab_size(), 270);
  EXPECT_EQ(tokenizer->end_of_text(), 0);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(kText)), kText);
  EXPECT_LT(tokenizer->encode(kText).size(), kText.size() / 2);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::string bytes;
    for (int i = 0; i < 100; ++i) bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(random())));
    std::string back;
    for (const std::int32_t id : tokenizer->encode(bytes)) tokenizer->append_bytes(id, back);
    EXPECT_EQ(back, bytes);
  }
}

TEST(BpeTokenizer, AddedTokensAreFoundFirstAndTheLongestWins) {
  BpeVocabulary vocabulary = dynamic_cast<const BpeTokenizer&>(*learn("bpe:257", kText)).vocabulary();
  for (const std::string token : {"<a>", "<a><b>"}) {
    vocabulary.added.push_back(static_cast<std::int32_t>(vocabulary.tokens.size()));
    vocabulary.tokens.push_back(token);
  }
  const BpeTokenizer tokenizer(vocabulary);
  EXPECT_EQ(tokenizer.encode("<a><a><b><|endoftext|><a"), (Ids{257, 258, 0, tokenizer.encode("<")[0], tokenizer.encode("a")[0]}));
}

TEST(BpeTokenizer, AWordOfAMillionBytesIsNoTrouble) {
  const auto tokenizer = learn("bpe:258", "aa aa");
  const Ids ids = tokenizer->encode(std::string(1'000'001, 'a'));
  EXPECT_EQ(ids.size(), 500'001u);
  EXPECT_EQ(ids.front(), 257);
  EXPECT_EQ(ids.back(), tokenizer->encode("a")[0]);
}

TEST(BpeTokenizer, RefusesAVocabularyThatIsNotWhole) {
  const BpeVocabulary whole = dynamic_cast<const BpeTokenizer&>(*learn("bpe:258", "ab ab")).vocabulary();
  BpeVocabulary broken = whole;
  broken.tokens[1] = "!!";
  EXPECT_USER_ERROR(BpeTokenizer{broken}, "lacks a token for byte 0x21");
  broken = whole;
  broken.tokens[0] = "!";
  EXPECT_USER_ERROR(BpeTokenizer{broken}, "has the token \"!\" twice");
  broken = whole;
  broken.tokens.back() = "zz";
  EXPECT_USER_ERROR(BpeTokenizer{broken}, "lacks the token \"ab\" that merge 0 makes");
}

TEST(Tokenizer, RefusesUnknownSpecsAndIds) {
  EXPECT_USER_ERROR(learn("words", "a"), "unknown tokenizer: use char, bpe:N or a tokenizer.json file; got \"words\"");
  EXPECT_USER_ERROR(learn("bpe:many", "a"), "bpe:N needs a number of tokens, as in bpe:4096; got \"bpe:many\"");
  EXPECT_USER_ERROR(learn("bpe:", "a"), "bpe:N needs a number");
  EXPECT_USER_ERROR(learn("char", "ab")->decode(Ids{2}), "outside the vocabulary of 2: 2");
  EXPECT_USER_ERROR(learn("bpe:257", "ab")->decode(Ids{-1}), "outside the vocabulary of 257: -1");
  EXPECT_TRUE(is_learned_tokenizer("char"));
  EXPECT_TRUE(is_learned_tokenizer("bpe:300"));
  EXPECT_FALSE(is_learned_tokenizer("runs/a/tokenizer.json"));
}

TEST(Tokenizer, SavesAndLoads) {
  for (const std::string_view spec : {"char", "bpe:257", "bpe:270"}) {
    const auto tokenizer = learn(spec, kText);
    const std::string json = tokenizer->to_json();
    const auto loaded = parse_tokenizer(json, "tokenizer.json");
    EXPECT_EQ(loaded->kind(), tokenizer->kind());
    EXPECT_EQ(loaded->vocab_size(), tokenizer->vocab_size());
    EXPECT_EQ(loaded->end_of_text(), tokenizer->end_of_text());
    EXPECT_EQ(loaded->encode(kText), tokenizer->encode(kText));
    EXPECT_EQ(loaded->to_json(), json);
    EXPECT_EQ(loaded->fingerprint(), tokenizer->fingerprint());
  }
  EXPECT_NE(learn("char", "ab")->fingerprint(), learn("char", "ac")->fingerprint());
}

TEST(Tokenizer, AFolderHoldsItsFile) {
  const test::TemporaryDirectory folder;
  const auto tokenizer = learn("bpe:265", kText);
  save_tokenizer(*tokenizer, folder.path());
  EXPECT_EQ(load_tokenizer(folder.path())->to_json(), tokenizer->to_json());
  EXPECT_EQ(load_tokenizer(folder / "tokenizer.json")->to_json(), tokenizer->to_json());
  EXPECT_USER_ERROR(load_tokenizer(folder / "none.json"), "none.json");
  EXPECT_USER_ERROR(save_tokenizer(*tokenizer, folder / "none"), "tokenizer.json");
}

TEST(StreamDecoder, HoldsBackIncompleteCharacters) {
  const auto tokenizer = learn("bpe:257", kText);
  StreamDecoder decoder(*tokenizer);
  std::vector<std::string> pieces;
  for (const std::int32_t id : tokenizer->encode("a\u00E9\U0001F600b")) pieces.push_back(decoder.push(id));
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "", "\u00E9", "", "", "", "\U0001F600", "b"}));
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.push(tokenizer->encode("\xE2")[0]), "");
  EXPECT_EQ(decoder.push(tokenizer->encode("x")[0]), "\uFFFDx");
  EXPECT_EQ(decoder.push(tokenizer->encode("\xF0")[0]), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(ByteAlphabet, IsThatOfGpt2) {
  EXPECT_EQ(to_byte_alphabet(" a\n\xAD\xFF"), "\u0120a\u010A\u0143\u00FF");
  EXPECT_EQ(from_byte_alphabet("\u0120a\u010A\u0143\u00FF"), " a\n\xAD\xFF");
  EXPECT_EQ(from_byte_alphabet(" "), std::nullopt);
  EXPECT_EQ(from_byte_alphabet("\u0144"), std::nullopt);
}

/// Every case of a reference tokenizer: ids, and the text they decode to.
void expect_reference_cases(const std::string& name) {
  REPRISE_NEEDS_REFERENCE("tokenizer/" + name + ".tokenizer.json");
  const auto folder = test::reference_directory() / "tokenizer";
  const auto path = folder / (name + ".tokenizer.json");
  const auto tokenizer = parse_tokenizer(read_text_file(path), path.string());
  const Json expected = read_json(folder / (name + ".expected.json"));
  EXPECT_EQ(tokenizer->vocab_size(), expected.find("vocab_size")->integer());
  EXPECT_GE(expected.find("cases")->items().size(), 72u);
  for (const Json& entry : expected.find("cases")->items()) {
    const std::string& text = entry.find("text")->string();
    Ids ids;
    for (const Json& id : entry.find("ids")->items()) ids.push_back(static_cast<std::int32_t>(id.integer()));
    EXPECT_EQ(tokenizer->encode(text), ids) << text;
    EXPECT_EQ(tokenizer->decode(ids), entry.find("decoded")->string()) << text;
    StreamDecoder decoder(*tokenizer);
    std::string streamed;
    for (const std::int32_t id : ids) streamed += decoder.push(id);
    EXPECT_EQ(streamed + decoder.finish(), entry.find("decoded")->string()) << text;
  }
  const auto again = parse_tokenizer(tokenizer->to_json(), "again");
  EXPECT_EQ(again->to_json(), tokenizer->to_json());
  EXPECT_EQ(parse_json(tokenizer->to_json(), "written"), read_json(path));
}

TEST(ReferenceTokenizers, Gpt2Of512Tokens) { expect_reference_cases("gpt2_512"); }
TEST(ReferenceTokenizers, Gpt2Of2048Tokens) { expect_reference_cases("gpt2_2048"); }

TEST(ReferenceTokenizers, OthersAreRefusedByName) {
  REPRISE_NEEDS_REFERENCE("tokenizer");
  const auto folder = test::reference_directory() / "tokenizer";
  const auto load = [&folder](const std::string& name) {
    const auto path = folder / (name + ".tokenizer.json");
    parse_tokenizer(read_text_file(path), path.string());
  };
  EXPECT_USER_ERROR(load("llama3_512"), "pre_tokenizer Sequence is not supported");
  EXPECT_USER_ERROR(load("qwen2_512"), "normalizer NFC is not supported");
  EXPECT_USER_ERROR(load("gpt2_prefix_512"), "pre_tokenizer ByteLevel with add_prefix_space is not supported");
  EXPECT_USER_ERROR(load("gpt2_added_512"), "post_processor TemplateProcessing is not supported");
  EXPECT_USER_ERROR(load("sentencepiece_612"), "normalizer Sequence is not supported");
  EXPECT_USER_ERROR(load("metaspace_612"), "pre_tokenizer Metaspace is not supported");
}

}  // namespace
}  // namespace reprise
