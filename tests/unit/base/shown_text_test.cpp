// SPDX-License-Identifier: Apache-2.0
#include "base/shown_text.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(ShownText, EscapesControlBytesAndCutsBetweenCharacters) {
  EXPECT_EQ(shown_text("silu"), "silu");
  EXPECT_EQ(shown_text("é"), "é");
  EXPECT_EQ(shown_text(std::string_view("a\x1b[31m\0\t\x7f", 9)), "a\\x1b[31m\\x00\\x09\\x7f");
  EXPECT_EQ(shown_text("abcdef", 3), "abc...");
  EXPECT_EQ(shown_text("abcdef", 6), "abcdef");
  EXPECT_EQ(shown_text("ab\xC3\xA9", 3), "ab...") << "half a character is none";
  EXPECT_EQ(shown_text(std::string(1 << 20, 'x')), std::string(80, 'x') + "...");
}

TEST(ShownText, AByteOrderMarkIsNotText) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBFsilu"), "silu");
  EXPECT_EQ(without_byte_order_mark("silu"), "silu");
  EXPECT_EQ(without_byte_order_mark(""), "");
}

}  // namespace
}  // namespace reprise
