// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/word_patterns.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tokenizer/regex.h"
#include "tokenizer/utf8.h"

namespace reprise {
namespace {

using Words = std::vector<std::string>;

using WordEnd = std::size_t (*)(std::string_view, std::size_t);

Words words_of(std::string_view text, WordEnd word_end = gpt2_word_end) {
  Words words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// Expected words: Python's regex module, findall of GPT-2's pattern.
TEST(Gpt2Words, AreThoseOfThePattern) {
  EXPECT_EQ(words_of("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(words_of("a  b   c"), (Words{"a", " ", " b", "  ", " c"}));
  EXPECT_EQ(words_of("end   "), (Words{"end", "   "}));
  EXPECT_EQ(words_of("a\n\nb \n c"), (Words{"a", "\n", "\n", "b", " \n", " c"}));
  EXPECT_EQ(words_of("a\tb"), (Words{"a", "\t", "b"}));
  EXPECT_EQ(words_of("it's we'll I'd IT'S"), (Words{"it", "'s", " we", "'ll", " I", "'d", " IT", "'", "S"}));
  EXPECT_EQ(words_of(" 's 'll'"), (Words{" '", "s", " '", "ll", "'"}));
  EXPECT_EQ(words_of("x12 3.5, ok!"), (Words{"x", "12", " 3", ".", "5", ",", " ok", "!"}));
  EXPECT_EQ(words_of("\u00E9t\u00E9 \u0663\u00BD \u4F60\u597D\uFF0C"),
            (Words{"\u00E9t\u00E9", " \u0663\u00BD", " \u4F60\u597D", "\uFF0C"}));
  EXPECT_EQ(words_of("a\u00A0\u3000b"), (Words{"a", "\u00A0", "\u3000", "b"}));
  EXPECT_EQ(words_of("\u0301a e\u0301"), (Words{"\u0301", "a", " e", "\u0301"}));
  EXPECT_EQ(words_of(""), Words{});
}

TEST(Gpt2Words, InvalidBytesBelongToNoClass) {
  EXPECT_EQ(words_of("ab\xFF\x80 c"), (Words{"ab", "\xFF\x80", " c"}));
  EXPECT_EQ(words_of(" \xE2\x82"), (Words{" \xE2\x82"}));
}

// Expected words: Hugging Face's Split with the pattern.
TEST(Llama3Words, AreThoseOfThePattern) {
  const auto words = [](std::string_view text) { return words_of(text, llama3_word_end); };
  EXPECT_EQ(words("it'S '\u017Fx a'\u017F b'\u017Ft"), (Words{"it", "'S", " '", "\u017Fx", " a", "'\u017F", " b", "'\u017F", "t"}));
  EXPECT_EQ(words("x\u0085y z\u001Cq"), (Words{"x", "\u0085y", " z", "\u001Cq"}));
  EXPECT_EQ(words("a\u180Eb \u200B c"), (Words{"a", "\u180Eb", " \u200B", " c"}));
  EXPECT_EQ(words("abc\u0300d"), (Words{"abc", "\u0300d"}));
  EXPECT_EQ(words("12345 67"), (Words{"123", "45", " ", "67"}));
  EXPECT_EQ(words("a \n \nb  c"), (Words{"a", " \n \n", "b", " ", " c"}));
  EXPECT_EQ(words("x!!\n\n y"), (Words{"x", "!!\n\n", " y"}));
  EXPECT_EQ(words_of("12345", qwen2_word_end), (Words{"1", "2", "3", "4", "5"}));
}

/// Words by the general machine.
Words words_by_regex(const Regex& regex, std::string_view text) {
  Words words;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto match = regex.find(text, begin);
    if (!match || match->begin != begin) return {"a gap"};
    words.emplace_back(text.substr(begin, match->end - begin));
    begin = match->end;
  }
  return words;
}

/// Text of characters that the patterns tell apart.
std::string random_text(std::mt19937& random) {
  static const std::vector<char32_t> pool = {
      ' ', ' ', ' ', '\n', '\r', '\t', '\'', '\'', 's',   'S',   'l',   'L',    'r',    'e',    'v',    'd',     'a',    'Z',     '1',
      '2', '.', '!', '_',  0x85, 0xA0, 0xB2, 0xE9, 0x17F, 0x301, 0x660, 0x2028, 0x2167, 0x3000, 0x4E00, 0x1F600, 0xE000, 0x10FFFF};
  std::string text;
  for (std::size_t i = random() % 24; i > 0; --i) append_utf8(text, pool[random() % pool.size()]);
  return text;
}

TEST(WordPatterns, AgreeWithTheGeneralMachine) {
  std::mt19937 random(11);
  const Regex gpt2(kGpt2Pattern);
  const Regex llama3(kLlama3Pattern);
  const Regex qwen2(kQwen2Pattern);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = random_text(random);
    EXPECT_EQ(words_of(text), words_by_regex(gpt2, text)) << text;
    EXPECT_EQ(words_of(text, llama3_word_end), words_by_regex(llama3, text)) << text;
    EXPECT_EQ(words_of(text, qwen2_word_end), words_by_regex(qwen2, text)) << text;
  }
}

}  // namespace
}  // namespace reprise
