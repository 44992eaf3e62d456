// SPDX-License-Identifier: Apache-2.0
#include "options/option_value.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace reprise {
namespace {

OptionValue parse(OptionKind kind, std::string_view text) { return parse_option_value(OptionRow{.name = "x", .kind = kind}, text, "--x"); }
OptionValue from_toml(OptionKind kind, const TomlValue& value) { return option_value_of(OptionRow{.name = "x", .kind = kind}, value, "x"); }

TEST(OptionValue, SizesKnowBothFamiliesOfUnits) {
  EXPECT_EQ(parse(OptionKind::size, "123"), OptionValue(std::int64_t{123}));
  EXPECT_EQ(parse(OptionKind::size, "24GB"), OptionValue(std::int64_t{24'000'000'000}));
  EXPECT_EQ(parse(OptionKind::size, "24GiB"), OptionValue(std::int64_t{24} << 30));
  EXPECT_EQ(parse(OptionKind::size, "1.5kB"), OptionValue(std::int64_t{1500}));
  EXPECT_EQ(parse(OptionKind::size, "0.5KiB"), OptionValue(std::int64_t{512}));
  EXPECT_EQ(parse(OptionKind::size, "2TiB"), OptionValue(std::int64_t{2} << 40));
  for (const char* bad : {"24G", "24 GB", "GB", "1.0001kB", "1e3", "9223372036854775807kB", ""}) {
    EXPECT_USER_ERROR(parse(OptionKind::size, bad),
                      "is not a size; write bytes, or a number with kB MB GB TB (powers of 1000) or KiB MiB GiB TiB (of 1024)");
  }
}

TEST(OptionValue, CountsAndTimes) {
  EXPECT_EQ(parse(OptionKind::count, "1.5M"), OptionValue(std::int64_t{1'500'000}));
  EXPECT_EQ(parse(OptionKind::count, "2B"), OptionValue(std::int64_t{2'000'000'000}));
  EXPECT_EQ(parse(OptionKind::count, "7k"), OptionValue(std::int64_t{7000}));
  EXPECT_USER_ERROR(parse(OptionKind::count, "2G"), "--x: \"2G\" is not a count; write it as 1500000 or 1.5M (k, M, B)");
  EXPECT_EQ(parse(OptionKind::duration, "90"), OptionValue(90.0));
  EXPECT_EQ(parse(OptionKind::duration, "1.5h"), OptionValue(5400.0));
  EXPECT_EQ(parse(OptionKind::duration, "30m"), OptionValue(1800.0));
  EXPECT_EQ(parse(OptionKind::duration, "2d"), OptionValue(172800.0));
  EXPECT_USER_ERROR(parse(OptionKind::duration, "2w"), "is not a time; write seconds, or a number with s, m, h or d");
}

TEST(OptionValue, NumbersAreWholeWordsAndFinite) {
  EXPECT_EQ(parse(OptionKind::number, "5e-4"), OptionValue(5e-4));
  EXPECT_EQ(parse(OptionKind::integer, "-7"), OptionValue(std::int64_t{-7}));
  for (const char* bad : {"", "1x", "nan", "inf", "1e999"}) EXPECT_USER_ERROR(parse(OptionKind::number, bad), "is not a number");
  for (const char* bad : {"", "1.0", "1x", "9223372036854775808"}) EXPECT_USER_ERROR(parse(OptionKind::integer, bad), "is not an integer");
}

TEST(OptionValue, Lists) {
  EXPECT_EQ(parse(OptionKind::list, "a,b"), OptionValue(std::vector<std::string>{"a", "b"}));
  EXPECT_USER_ERROR(parse(OptionKind::list, ""), "--x: the list is empty");
  for (const char* bad : {"a,,b", ",a", "a,"}) EXPECT_USER_ERROR(parse(OptionKind::list, bad), "the list has an empty item; remove it");
  EXPECT_USER_ERROR(parse(OptionKind::list, "a,b,a"), "\"a\" stands twice in the list; remove one");
  EXPECT_USER_ERROR(parse(OptionKind::path, ""), "--x: the path is empty");
}

TEST(OptionValue, TomlTypesMustFit) {
  EXPECT_EQ(from_toml(OptionKind::number, std::int64_t{1}), OptionValue(1.0));
  EXPECT_EQ(from_toml(OptionKind::number, 0.1), OptionValue(0.1));
  EXPECT_EQ(from_toml(OptionKind::text, 0.1), OptionValue(std::string("0.1")));
  EXPECT_EQ(from_toml(OptionKind::size, std::string("1GB")), OptionValue(std::int64_t{1'000'000'000}));
  EXPECT_EQ(from_toml(OptionKind::duration, std::int64_t{90}), OptionValue(90.0));
  EXPECT_EQ(from_toml(OptionKind::paths, std::string("a")), OptionValue(std::vector<std::string>{"a"}));
  EXPECT_EQ(from_toml(OptionKind::paths, TomlList{std::string("a"), std::string("b,c")}),
            OptionValue(std::vector<std::string>{"a", "b,c"}));
  EXPECT_USER_ERROR(from_toml(OptionKind::integer, 1.0), "x: must be an integer, not a number");
  EXPECT_USER_ERROR(from_toml(OptionKind::number, std::string("1")), "x: must be a number, not a string");
  EXPECT_USER_ERROR(from_toml(OptionKind::number, std::numeric_limits<double>::infinity()), "x: inf is not a number");
  EXPECT_USER_ERROR(from_toml(OptionKind::path, true), "x: must be a string, not a boolean");
  EXPECT_USER_ERROR(from_toml(OptionKind::choice, TomlList{}), "x: must be a string, not a list");
  EXPECT_USER_ERROR(from_toml(OptionKind::list, TomlList{}), "x: the list is empty");
  EXPECT_USER_ERROR(from_toml(OptionKind::count, 1.5), "must be an integer, or a string such as \"1.5M\", not a number");
  EXPECT_USER_ERROR(from_toml(OptionKind::size, true), "must be a number of bytes, or a string such as \"24GB\", not a boolean");
  EXPECT_USER_ERROR(from_toml(OptionKind::duration, true), "must be a number of seconds, or a string such as \"30m\", not a boolean");
  EXPECT_USER_ERROR(from_toml(OptionKind::text, true), "must be a string or number, not a boolean");
}

}  // namespace
}  // namespace reprise
