// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"

namespace reprise {
namespace {

using Words = std::vector<std::string>;

Words matches(std::string_view pattern, std::string_view text) {
  const Regex regex(pattern);
  Words words;
  for (std::size_t from = 0;;) {
    const auto match = regex.find(text, from);
    if (!match) return words;
    words.emplace_back(text.substr(match->begin, match->end - match->begin));
    from = match->end;
  }
}

// Expected: Python's regex module, the matches of finditer that are not empty.
TEST(Regex, FindsWhatPerlWould) {
  EXPECT_EQ(matches("a|ab|abc", "abc"), (Words{"a"}));
  EXPECT_EQ(matches("(?:abc|ab|a)c", "abc ac"), (Words{"abc", "ac"}));
  EXPECT_EQ(matches("a*b", "aaab b aac"), (Words{"aaab", "b"}));
  EXPECT_EQ(matches("a*?b|c", "aaab c"), (Words{"aaab", "c"}));
  EXPECT_EQ(matches("a+?", "aaa"), (Words{"a", "a", "a"}));
  EXPECT_EQ(matches("a?+ab", "aab ab"), (Words{"aab"}));
  EXPECT_EQ(matches("[ab]*+b|x", "aab x"), (Words{"x"}));
  EXPECT_EQ(matches("a{2,3}", "aaaaaaa"), (Words{"aaa", "aaa"}));
  EXPECT_EQ(matches("a{2,}b", "ab aab aaaab"), (Words{"aab", "aaaab"}));
  EXPECT_EQ(matches("(?:ab){2}", "ababab"), (Words{"abab"}));
  EXPECT_EQ(matches("(ab|c)+d", "abcabd cd abab"), (Words{"abcabd", "cd"}));
  EXPECT_EQ(matches("(?:ab)?c", "abc c"), (Words{"abc", "c"}));
  EXPECT_EQ(matches("(?:ab)*?abc", "ababc"), (Words{"ababc"}));
  EXPECT_EQ(matches("(?:a{1,2}){2,3}", "aaaaa aaa"), (Words{"aaaaa", "aaa"}));
  EXPECT_EQ(matches("\\s+(?!\\S)|\\s+", "a   b  "), (Words{"  ", " ", "  "}));
  EXPECT_EQ(matches("a(?=b)|c(?!d)", "ab ac cd ce"), (Words{"a", "c", "c"}));
  EXPECT_EQ(matches("(?i:'s|k)", "'S 's '\u017F \u212A K"), (Words{"'S", "'s", "'\u017F", "\u212A", "K"}));
  EXPECT_EQ(matches("[^\\s\\p{L}]+", "ab12 c-\u00E9!"), (Words{"12", "-", "!"}));
  EXPECT_EQ(matches("\\p{Lu}\\p{Ll}+", "Abc DEf \u00C9t\u00E9"), (Words{"Abc", "Ef", "\u00C9t\u00E9"}));
  EXPECT_EQ(matches("[\u4E00-\u9FA5]+", "a\u4F60\u597Db\u3042"), (Words{"\u4F60\u597D"}));
  EXPECT_EQ(matches("[a\\-c]+", "a-c b"), (Words{"a-c"}));
  EXPECT_EQ(matches("\\w+\\W\\d\\D", "ab-1c"), (Words{"ab-1c"}));
  EXPECT_EQ(matches("a.c", "abc a\nc a\u00E9c"), (Words{"abc", "a\u00E9c"}));
  EXPECT_EQ(matches("x*", "axxb"), (Words{"xx"}));
  EXPECT_EQ(matches("\\P{L}", "a1"), (Words{"1"}));
}

TEST(Regex, GoesBackOverWholeCharacters) {
  EXPECT_EQ(matches("[^x]*\u00E9", "\u00E9\u4F60\u00E9\u4F60\U0001F600"), (Words{"\u00E9\u4F60\u00E9"}));
  EXPECT_EQ(matches("\\S*b", "\xE2\x82\xFF\x62\xFF"), (Words{"\xE2\x82\xFF\x62"}));
}

TEST(Regex, LongTextsTakeNoMoreThanTheirLength) {
  EXPECT_EQ(matches("\\s+(?!\\S)|\\s+|\\S+", std::string(300'000, ' ') + "x").size(), 3u);
  EXPECT_EQ(matches("(?:ab)+", [] {
              std::string text;
              for (int i = 0; i < 50'000; ++i) text += "ab";
              return text;
            }()).size(),
            1u);
}

TEST(Regex, RefusesWhatItDoesNotKnow) {
  const auto refused = [](std::string_view pattern, std::string_view phrase) { EXPECT_USER_ERROR(Regex{pattern}, phrase); };
  refused("(a", "a ( without a )");
  refused("a)", "a ) without a (");
  refused("[a", "a [ without a ]");
  refused("[]", "an empty bracket");
  refused("[[:alpha:]]", "brackets in brackets");
  refused("[b-a]", "a range that is empty");
  refused("a**", "a repeat of a repeat");
  refused("*a", "has a meaning that is not known here");
  refused("^a", "has a meaning that is not known here");
  refused("a{2,1}", "a count that cannot be met");
  refused("a{x}", "a { without a count");
  refused("a{2", "a { without a }");
  refused("a{5000}", "a count is too large");
  refused("a{1,3}+", "means different things in different languages");
  refused("a{2}?", "means different things in different languages");
  refused("(?<=a)b", "of groups with ? these are known");
  refused("(?:a*)*", "a group that may be empty cannot be repeated");
  refused("(?:a|b)++", "a group cannot be repeated with no way back");
  refused("(?=a)*", "a look-ahead cannot be repeated");
  refused("\\b", "an escape that is not known");
  refused("a\\", "a \\ with nothing behind it");
  refused("\\p{Greek}", "no general category has this name");
  refused("\\pL", "\\p without {}");
  refused("(?i:\\p{L})", "a class inside (?i:...)");
  refused("(?i:\u00E9)", "a character beyond ASCII inside (?i:...)");
  refused("\xFF", "bytes that are not UTF-8");
  refused(std::string(60, '(') + "a" + std::string(60, ')'), "groups are nested too deep");
  refused("(?:(?:(?:a{1000}b){1000}){1000}){9}", "it is too large");
  refused("a)", "at byte 1 of \"a)\"");
}

TEST(Regex, GivesUpWhereTheWaysAreTooMany) {
  const Regex regex("(?:a|a)+b");
  EXPECT_USER_ERROR(regex.find(std::string(64, 'a'), 0), "takes too many steps on this text");
}

}  // namespace
}  // namespace reprise
