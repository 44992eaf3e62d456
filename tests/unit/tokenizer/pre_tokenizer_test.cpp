// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reprise {
namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view text) {
  Words words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = gpt2_word_end(text, begin);
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

}  // namespace
}  // namespace reprise
