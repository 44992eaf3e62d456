// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "io/file_write.h"
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
    for (const std::int32_t id : tokenizer->encode(bytes)) back += *from_byte_alphabet(tokenizer->token(id));
    EXPECT_EQ(back, bytes);
  }
}

/// The parts of a learned tokenizer, to change and build anew.
BpeTokenizerParts parts_of(const Tokenizer& tokenizer) {
  const auto& bpe = dynamic_cast<const BpeTokenizer&>(tokenizer);
  BpeTokenizerParts parts = bpe.parts();
  parts.vocabulary = bpe.vocabulary();
  return parts;
}

TEST(BpeTokenizer, AddedTokensAreFoundFirstAndTheLongestWins) {
  BpeTokenizerParts parts = parts_of(*learn("bpe:257", kText));
  for (const std::string token : {"<a>", "<a><b>"}) {
    AddedToken added;
    added.id = 257 + static_cast<std::int32_t>(parts.added.size() - 1);
    added.content = token;
    parts.added.push_back(added);
  }
  const BpeTokenizer tokenizer(parts, "t");
  EXPECT_EQ(tokenizer.vocab_size(), 259);
  EXPECT_EQ(tokenizer.encode("<a><a><b><|endoftext|><a"), (Ids{257, 258, 0, tokenizer.encode("<")[0], tokenizer.encode("a")[0]}));
}

TEST(BpeTokenizer, RefusesAddedTokensThatDoNotFit) {
  const BpeTokenizerParts whole = parts_of(*learn("bpe:257", kText));
  const auto with = [&whole](std::int32_t id, const std::string& content) {
    BpeTokenizerParts parts = whole;
    AddedToken added;
    added.id = id;
    added.content = content;
    parts.added.push_back(added);
    BpeTokenizer(std::move(parts), "t");
  };
  with(300, "gaps are no trouble");
  EXPECT_USER_ERROR(with(5000, "x y"), "t: the id of the added token \"x y\" is out of proportion to 259 tokens: 5000");
  EXPECT_USER_ERROR(with(7, "x y"), "t: two tokens have the same id: \"'\" and \"x y\", 7");
  EXPECT_USER_ERROR(with(300, "a"), "t: added token \"a\" has ids 300 and");
}

/// The definition, literally: the earliest merge that applies anywhere, at its leftmost place, until none does.
Ids merged_by_definition(const BpeVocabulary& vocabulary, Ids ids, const BpeModel& model) {
  for (std::size_t rank = 0; rank < vocabulary.merges.size();) {
    const auto [left, right] = vocabulary.merges[rank];
    std::size_t at = 0;
    while (at + 1 < ids.size() && (ids[at] != left || ids[at + 1] != right)) ++at;
    if (at + 1 >= ids.size()) {
      ++rank;
      continue;
    }
    ids[at] = *model.find(vocabulary.tokens[static_cast<std::size_t>(left)] + vocabulary.tokens[static_cast<std::size_t>(right)]);
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    rank = 0;
  }
  return ids;
}

TEST(BpeModel, MergesAsDefinedInWordsOfAnyLength) {
  std::mt19937 random(8);
  const auto word = [&random](std::size_t length) {
    std::string text;
    while (text.size() < length) text.push_back("aabc"[random() % 4]);
    return text;
  };
  std::string text;
  for (int i = 0; i < 200; ++i) text += word(1 + random() % 30) + " ";
  const BpeModel model(parts_of(*learn("bpe:330", text)).vocabulary, {}, BpeUnit::byte);
  for (int round = 0; round < 300; ++round) {
    const std::string one = word(1 + random() % 70);
    Ids units;
    for (const char byte : one) units.push_back(*model.find(std::string_view(&byte, 1)));
    Ids ids;
    model.encode_word(one, ids);
    EXPECT_EQ(ids, merged_by_definition(model.vocabulary(), units, model)) << one;
  }
}

TEST(BpeTokenizer, AWordOfAMillionBytesIsNoTrouble) {
  const auto tokenizer = learn("bpe:258", "aa aa");
  const Ids ids = tokenizer->encode(std::string(1'000'001, 'a'));
  EXPECT_EQ(ids.size(), 500'001u);
  EXPECT_EQ(ids.front(), 257);
  EXPECT_EQ(ids.back(), tokenizer->encode("a")[0]);
}

TEST(BpeTokenizer, OneLongWordWithoutAPreTokenizerIsNoTrouble) {
  BpeTokenizerParts parts = parts_of(*learn("bpe:258", "aa aa"));
  parts.pre_tokenizer = nullptr;
  const Ids ids = BpeTokenizer(parts, "t").encode(std::string(1'000'001, 'a'));
  EXPECT_EQ(ids.size(), 500'001u);
}

TEST(BpeTokenizer, RefusesAVocabularyThatIsNotWhole) {
  const BpeTokenizerParts whole = parts_of(*learn("bpe:258", "ab ab"));
  BpeTokenizerParts broken = whole;
  broken.vocabulary.tokens[1] = "!!";
  const BpeTokenizer lacking(broken, "t");
  EXPECT_EQ(lacking.encode("?").size(), 1u);
  EXPECT_USER_ERROR(lacking.encode("what!"), "the tokenizer has no token for a part of the text, and no unknown token");
  broken = whole;
  broken.vocabulary.tokens[2] = "!";
  EXPECT_USER_ERROR(BpeTokenizer(broken, "t"), "t: BPE vocabulary has the token \"!\" twice: remove one; ids 1 and 2");
  broken = whole;
  broken.vocabulary.tokens.back() = "zz";
  EXPECT_USER_ERROR(BpeTokenizer(broken, "t"), "t: BPE vocabulary lacks the token \"ab\" that merge 0 makes");
  broken = whole;
  broken.settings.unknown = "<unk>";
  EXPECT_USER_ERROR(BpeTokenizer(broken, "t"), "t: BPE vocabulary lacks the unknown token \"<unk>\"");
  broken = whole;
  broken.settings.byte_fallback = true;
  EXPECT_USER_ERROR(BpeTokenizer(broken, "t"), "byte_fallback behind a ByteLevel pre_tokenizer is not supported");
  broken = whole;
  broken.special.bos = 258;
  EXPECT_USER_ERROR(BpeTokenizer(broken, "t"), "a special token names a token that is not there");
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

TEST(Tokenizer, PromptsBeginWithWhatTheTokenizerAsksFor) {
  const auto characters = learn("char", "ab");
  EXPECT_EQ(prompt_tokens(*characters, "ba"), (Ids{1, 0}));
  EXPECT_EQ(prompt_tokens(*characters, ""), (Ids{0}));
  EXPECT_USER_ERROR(prompt_tokens(*characters, "x"), "is not among the 2 characters");
  const auto plain = learn("bpe:258", "ab ab");
  EXPECT_EQ(prompt_tokens(*plain, ""), plain->encode("\n"));
  BpeTokenizerParts parts = parts_of(*plain);
  parts.post_processor = write_text_frame({.before = {0}, .after = {0}}, [](std::int32_t) { return "<|endoftext|>"; });
  const BpeTokenizer framed(parts, "t");
  EXPECT_EQ(prompt_tokens(framed, ""), (Ids{0}));
  EXPECT_EQ(prompt_tokens(framed, "ab"), (Ids{0, 257}));
}

/// Loads a learned tokenizer from a folder with the other files beside it.
std::unique_ptr<Tokenizer> load_with(const std::string& config, const std::string& map) {
  const test::TemporaryDirectory folder;
  save_tokenizer(*learn("bpe:258", "ab ab"), folder.path());
  if (!config.empty()) write_text_file(folder / "tokenizer_config.json", config);
  if (!map.empty()) write_text_file(folder / "special_tokens_map.json", map);
  return load_tokenizer(folder.path());
}

TEST(Tokenizer, SpecialTokensAreNamedByTheFilesBesideIt) {
  EXPECT_EQ(load_with("", "")->special_tokens(), (SpecialTokens{.bos = {}, .eos = 0, .pad = {}}));
  const auto tokenizer = load_with(R"({"bos_token": "ab", "pad_token": null, "add_bos_token": true, "other": 1})",
                                   R"({"bos_token": "!", "pad_token": {"content": "!"}})");
  EXPECT_EQ(tokenizer->special_tokens(), (SpecialTokens{.bos = 257, .eos = 0, .pad = 1}));
  EXPECT_EQ(tokenizer->encode_framed("ab"), (Ids{257, 257}));
  EXPECT_NE(tokenizer->fingerprint(), load_with("", "")->fingerprint());
  const test::TemporaryDirectory folder;
  save_tokenizer(*tokenizer, folder.path());
  const auto again = load_tokenizer(folder.path());
  EXPECT_EQ(again->special_tokens(), tokenizer->special_tokens());
  EXPECT_EQ(again->encode_framed("ab"), (Ids{257, 257}));
  EXPECT_EQ(again->fingerprint(), tokenizer->fingerprint());
  const auto ended = load_with(R"({"eos_token": "<|endoftext|>", "add_eos_token": true, "add_bos_token": false})", "");
  EXPECT_EQ(ended->encode_framed("ab"), (Ids{257, 0}));
}

TEST(Tokenizer, TheConfigDecidesOverTheTemplate) {
  const test::TemporaryDirectory folder;
  BpeTokenizerParts parts = parts_of(*learn("bpe:258", "ab ab"));
  parts.post_processor = write_text_frame({.before = {257}, .after = {0}}, [](std::int32_t id) { return std::to_string(id); });
  save_tokenizer(BpeTokenizer(parts, "t"), folder.path());
  EXPECT_EQ(load_tokenizer(folder.path())->encode_framed("!"), (Ids{257, 1, 0}));
  write_text_file(folder / "tokenizer_config.json",
                  R"({"bos_token": "ab", "eos_token": "<|endoftext|>", "add_bos_token": true, "add_eos_token": false})");
  EXPECT_EQ(load_tokenizer(folder.path())->encode_framed("!"), (Ids{257, 1}));
  write_text_file(folder / "tokenizer_config.json", R"({"bos_token": "ab", "add_bos_token": false})");
  EXPECT_EQ(load_tokenizer(folder.path())->encode_framed("!"), (Ids{1, 0}));
}

TEST(Tokenizer, RefusesNamesOfTokensThatAreNotThere) {
  EXPECT_USER_ERROR(load_with(R"({"pad_token": "[PAD]"})", ""),
                    "tokenizer_config.json: pad_token: names a token that tokenizer.json does not have: \"[PAD]\"");
  EXPECT_USER_ERROR(load_with("", R"({"eos_token": "x y"})"), "special_tokens_map.json: eos_token: names a token");
  EXPECT_USER_ERROR(load_with(R"({"add_bos_token": true})", ""), "tokenizer_config.json: add_bos_token: needs the name of the token");
  EXPECT_USER_ERROR(load_with(R"({"bos_token": 3})", ""), "bos_token: must be a string");
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

}  // namespace
}  // namespace reprise
