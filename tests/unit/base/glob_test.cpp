// SPDX-License-Identifier: Apache-2.0
#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace reprise {
namespace {

/// The definition, word for word.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) && matches(pattern.substr(1), text.substr(1));
}

/// Every word of these letters up to this length.
std::vector<std::string> words(const std::string& letters, std::size_t longest) {
  std::vector<std::string> all = {""};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == longest) continue;
    for (const char letter : letters) all.push_back(all[i] + letter);
  }
  return all;
}

TEST(Glob, AgreesWithItsDefinition) {
  for (const std::string& pattern : words("ab*?", 4)) {
    for (const std::string& text : words("ab", 4)) EXPECT_EQ(glob_matches(pattern, text), matches(pattern, text)) << pattern << " " << text;
  }
}

TEST(Glob, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "a*";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(500, 'a')));
}

}  // namespace
}  // namespace reprise
