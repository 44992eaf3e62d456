// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/utf8.h"

#include <gtest/gtest.h>

#include "io/json.h"
#include "support/reference_directory.h"
#include "tokenizer/unicode_classes.h"

namespace reprise {
namespace {

std::string replaced(std::string_view text) { return replace_invalid_utf8(text); }

TEST(Utf8, EveryCodePointRoundTrips) {
  std::string text;
  for (char32_t c = 0; c < 0x110000; c += c < 0x1000 ? 1 : 61) {
    if (c >= 0xD800 && c < 0xE000) continue;
    text.clear();
    append_utf8(text, c);
    const Utf8Step step = read_utf8(text, 0);
    ASSERT_TRUE(step.valid) << static_cast<unsigned>(c);
    ASSERT_EQ(step.code_point, c);
    ASSERT_EQ(step.length, text.size());
  }
}

// Unicode 15, section 3.9, table 3-8: U+FFFD for each maximal subpart.
TEST(Utf8, ReplacesMaximalSubparts) {
  EXPECT_EQ(replaced("a\xF1\x80\x80\xE1\x80\xC2" "b\x80" "c\x80\xBF" "d"),
            "a\uFFFD\uFFFD\uFFFD" "b\uFFFD" "c\uFFFD\uFFFD" "d");
  EXPECT_EQ(replaced("\xC0\xAF"), "\uFFFD\uFFFD");                  // not the shortest form
  EXPECT_EQ(replaced("\xED\xA0\x80x"), "\uFFFD\uFFFD\uFFFDx");      // a surrogate
  EXPECT_EQ(replaced("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
  EXPECT_EQ(replaced("\xE2\x82"), "\uFFFD");
  std::size_t invalid = 0;
  replace_invalid_utf8("ab\xF0\x9F\x98", &invalid);
  EXPECT_EQ(invalid, 3u);
}

TEST(Utf8, KnowsWhatMoreBytesCouldComplete) {
  EXPECT_TRUE(read_utf8("\xF0\x9F\x98", 0).cut_short);
  EXPECT_FALSE(read_utf8("\xF0\x9F\x98 ", 0).cut_short);
  EXPECT_FALSE(read_utf8("\xFF", 0).cut_short);
}

TEST(Utf8, ReplacesAsTheReferenceDoes) {
  REPRISE_NEEDS_REFERENCE("tokenizer/gpt2_512.expected.json");
  const auto path = test::reference_directory() / "tokenizer/gpt2_512.expected.json";
  const Json expected = read_json(path);
  ASSERT_FALSE(expected.find("replaced_bytes")->items().empty());
  for (const Json& entry : expected.find("replaced_bytes")->items()) {
    std::string bytes;
    for (const Json& byte : entry.find("bytes")->items()) bytes.push_back(static_cast<char>(byte.integer()));
    EXPECT_EQ(replaced(bytes), entry.find("text_after_replacement")->string());
  }
}

TEST(UnicodeClasses, KnowsEdgesOfEachClass) {
  for (const char32_t letter : {U'A', U'z', U'\u00AA', U'\u00B5', U'\u0130', U'\u05D0', U'\u4E00', U'\uAC00', U'\U00020000'}) {
    EXPECT_TRUE(is_unicode_letter(letter)) << static_cast<unsigned>(letter);
    EXPECT_FALSE(is_unicode_number(letter) || is_unicode_space(letter)) << static_cast<unsigned>(letter);
  }
  for (const char32_t number : {U'0', U'9', U'\u00B2', U'\u00BD', U'\u0663', U'\u2167', U'\uFF11', U'\U0001D7CE'}) {
    EXPECT_TRUE(is_unicode_number(number)) << static_cast<unsigned>(number);
    EXPECT_FALSE(is_unicode_letter(number) || is_unicode_space(number)) << static_cast<unsigned>(number);
  }
  for (const char32_t space : {U'\t', U'\r', U' ', U'\u0085', U'\u00A0', U'\u1680', U'\u2028', U'\u3000'}) {
    EXPECT_TRUE(is_unicode_space(space)) << static_cast<unsigned>(space);
    EXPECT_FALSE(is_unicode_letter(space) || is_unicode_number(space)) << static_cast<unsigned>(space);
  }
  for (const char32_t other : {U'\0', U'\x1C', U'@', U'[', U'\u0301', U'\u200B', U'\uFEFF', U'\uFFFD', U'\U0001F600', U'_'}) {
    EXPECT_FALSE(is_unicode_letter(other) || is_unicode_number(other) || is_unicode_space(other)) << static_cast<unsigned>(other);
  }
}

}  // namespace
}  // namespace reprise
