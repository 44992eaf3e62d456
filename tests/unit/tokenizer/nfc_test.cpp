// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tokenizer/unicode_classes.h"
#include "tokenizer/unicode_compositions.h"
#include "tokenizer/utf8.h"

namespace reprise {
namespace {

std::string nfc(std::string_view text) {
  std::string storage;
  return std::string(to_nfc(text, storage));
}

// Expected: Python's unicodedata.normalize("NFC", ...).
TEST(Nfc, ComposesAndOrders) {
  EXPECT_EQ(nfc("plain"), "plain");
  EXPECT_EQ(nfc("e\u0301te\u0301"), "\u00E9t\u00E9");
  EXPECT_EQ(nfc("\u00E9\u0301"), "\u00E9\u0301");
  EXPECT_EQ(nfc("a\u0323\u0302"), "\u1EAD");              // two steps
  EXPECT_EQ(nfc("a\u0302\u0323"), "\u1EAD");              // marks in another order
  EXPECT_EQ(nfc("\u00E2\u0323"), "\u1EAD");               // composed already, and once more
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");       // ordered, nothing composes
  EXPECT_EQ(nfc("a\u0301\u0301"), "\u00E1\u0301");        // the second is blocked
  EXPECT_EQ(nfc("\u212B\u2126"), "\u00C5\u03A9");         // singletons
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");               // excluded from composition
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(nfc("\uF900\U0002F800"), "\u8C48\u4E3D");     // compatibility ideographs have canonical mappings
  EXPECT_EQ(nfc("\u1100\u1161\u11A8"), "\uAC01");         // Hangul
  EXPECT_EQ(nfc("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(nfc("\u1100\u1161\u11A7"), "\uAC00\u11A7");
  EXPECT_EQ(nfc("\uAC01\u11A8"), "\uAC01\u11A8");
  EXPECT_EQ(nfc("\u0301a"), "\u0301a");                   // nothing before it
}

TEST(Nfc, LeavesBytesThatAreNotUtf8) {
  EXPECT_EQ(nfc("e\xFF\u0301"), "e\xFF\u0301");
  EXPECT_EQ(nfc("\xE2\x82 e\u0301"), "\xE2\x82 \u00E9");
}

TEST(Nfc, GivesBackTheTextItselfWhenNothingChanges) {
  const std::string text = "caf\u00E9 \uAC01 \u4F60";
  std::string storage = "untouched";
  EXPECT_EQ(to_nfc(text, storage).data(), text.data());
  EXPECT_EQ(storage, "untouched");
}

TEST(Nfc, OnceIsEnough) {
  std::mt19937 random(2);
  const auto draw = [&random](char32_t first, char32_t count) { return first + static_cast<char32_t>(random() % count); };
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (int i = 0; i < 6; ++i) {
      const char32_t pool[] = {'a', 'o', draw(0x300, 0x70), draw(0x1100, 0x100), draw(0xAC00, 11172), draw(0, 0x3000), draw(0xF900, 0x200)};
      append_utf8(text, pool[random() % 7]);
    }
    const std::string once = nfc(text);
    EXPECT_EQ(nfc(once), once);
  }
}

// Expected: Python's unicodedata.category.
TEST(UnicodeClasses, AreThoseOfTheTables) {
  EXPECT_EQ(general_category(0), GeneralCategory::Cc);
  EXPECT_EQ(general_category('A'), GeneralCategory::Lu);
  EXPECT_EQ(general_category(0x1C5), GeneralCategory::Lt);
  EXPECT_EQ(general_category(0x301), GeneralCategory::Mn);
  EXPECT_EQ(general_category(0x2167), GeneralCategory::Nl);
  EXPECT_EQ(general_category(0x4E00), GeneralCategory::Lo);
  EXPECT_EQ(general_category(0x9FFF), GeneralCategory::Lo);
  EXPECT_EQ(general_category(0xD800), GeneralCategory::Cs);
  EXPECT_EQ(general_category(0xE000), GeneralCategory::Co);
  EXPECT_EQ(general_category(0x10FFFF), GeneralCategory::Cn);
  EXPECT_TRUE(is_unicode_punctuation(0x2019));
  EXPECT_FALSE(is_unicode_punctuation('+'));
  EXPECT_TRUE(is_unicode_word(0x24B6));
  EXPECT_TRUE(is_unicode_word(0x200D));
  EXPECT_TRUE(is_unicode_word('_'));
  EXPECT_FALSE(is_unicode_word(0xB2));
}

}  // namespace
}  // namespace reprise
