// SPDX-License-Identifier: Apache-2.0
#include "io/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

TEST(Json, ReadsEveryKindInOrder) {
  const Json json = parse_json(R"({"z": null, "a": [true, false], "m": {"n": -3}, "x": 2.5, "s": "a\n\u00e9\ud83d\ude00"})", "t");
  ASSERT_EQ(json.members().size(), 5u);
  EXPECT_EQ(json.members()[0].key, "z");
  EXPECT_TRUE(json.find("z")->is_null());
  EXPECT_TRUE(json.find("a")->items()[0].boolean());
  EXPECT_EQ(json.find("m")->find("n")->integer(), -3);
  EXPECT_EQ(json.find("x")->number(), 2.5);
  EXPECT_EQ(json.find("s")->string(), "a\n\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(json.find("none"), nullptr);
  EXPECT_EQ(json.find("x")->find("n"), nullptr);
}

TEST(Json, NumbersKeepTheirKindAndBits) {
  EXPECT_EQ(parse_json("9223372036854775807", "t").integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_json("-9223372036854775808", "t").integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_json("9223372036854775808", "t").number(), 9223372036854775808.0);
  EXPECT_EQ(parse_json("1000000000000000019884624838656", "t").number(), 1e30);
  EXPECT_FALSE(parse_json("1.0", "t").is_integer());
  EXPECT_TRUE(parse_json("1", "t").is_number());
  EXPECT_EQ(write_json(Json(1.0)), "1.0");
  EXPECT_EQ(write_json(Json(1e300)), "1e+300");
  EXPECT_EQ(write_json(Json(0.1)), "0.1");
  EXPECT_EQ(write_json(Json(-0.0)), "-0.0");
}

TEST(Json, RandomDoublesRoundTrip) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const double back = parse_json(write_json(Json(value)), "t").number();
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value));
  }
}

TEST(Json, NotFiniteIsWrittenAsNull) {
  EXPECT_EQ(write_json(Json(std::nan(""))), "null");
  EXPECT_EQ(write_json(Json(-std::numeric_limits<double>::infinity())), "null");
}

TEST(Json, WritesThreeStyles) {
  const Json json = Json::object({{"a", Json::array({1, 2})}, {"b", Json::object()}, {"c", Json::array()}});
  EXPECT_EQ(write_json(json), R"({"a": [1, 2], "b": {}, "c": []})");
  EXPECT_EQ(write_json(json, kCompact), R"({"a":[1,2],"b":{},"c":[]})");
  EXPECT_EQ(write_json(json, 2), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": []\n}");
}

TEST(Json, EscapesWhatTheGrammarRequires) {
  EXPECT_EQ(write_json(Json("q\" b\\ n\n t\t r\r c\x01 d\x7F")), R"("q\" b\\ n\n t\t r\r c\u0001 d\u007f")");
  EXPECT_EQ(write_json(Json("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")), "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  for (const char* bad : {"\x80", "\xC1\xBF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    const std::string text = write_json(Json(std::string("a") + bad));
    EXPECT_EQ(text.substr(0, 5), "\"a\xEF\xBF\xBD") << text;
    EXPECT_NO_THROW(parse_json(text, "t"));
  }
}

TEST(Json, SetReplacesAndAppends) {
  Json json;
  json.set("a", 1);
  json.set("b", "x");
  json.set("a", 2.0);
  Json list;
  list.push_back(Json::count(5));
  json.set("c", list);
  EXPECT_EQ(write_json(json), R"({"a": 2.0, "b": "x", "c": [5]})");
  EXPECT_EQ(json, parse_json(write_json(json), "t"));
  EXPECT_FALSE(json == Json());
}

TEST(Json, WrongUseIsABug) {
  EXPECT_INTERNAL_ERROR(Json("x").integer(), "a JSON string was read as integer");
  EXPECT_INTERNAL_ERROR(Json(1).string(), "a JSON integer was read as string");
  EXPECT_INTERNAL_ERROR(Json(1).boolean(), "read as boolean");
  EXPECT_INTERNAL_ERROR(Json(true).number(), "a JSON boolean was read as number");
  EXPECT_INTERNAL_ERROR(Json().items(), "a JSON null was read as array");
  EXPECT_INTERNAL_ERROR(Json(1.5).members(), "a JSON number was read as object");
  EXPECT_INTERNAL_ERROR(Json(1).set("a", 1), "read as object");
  EXPECT_INTERNAL_ERROR(Json::count(1ull << 63), "does not fit a JSON integer");
}

TEST(Json, SyntaxErrorsNameFileLineAndColumn) {
  EXPECT_USER_ERROR(parse_json("{\"a\": 1,\n \"b\": tru}", "config.json"), "config.json:2:10: not valid JSON: while parsing value");
  EXPECT_USER_ERROR(parse_json("", "config.json"), "config.json:1:1: not valid JSON: while parsing value - unexpected end of input");
  EXPECT_USER_ERROR(parse_json("[1, 2", "a"), "unexpected end of input; expected ']'");
  EXPECT_USER_ERROR(parse_json("[1] x", "a"), "a:1:5: not valid JSON");
  EXPECT_USER_ERROR(parse_json("{'a': 1}", "a"), "a:1:2: not valid JSON: while parsing object key");
  EXPECT_USER_ERROR(parse_json("1e999", "a"), "number overflow parsing '1e999'");
  EXPECT_USER_ERROR(parse_json("\"\xFF\"", "a"), "ill-formed UTF-8 byte");
  EXPECT_USER_ERROR(parse_json("NaN", "a"), "a:1:1: not valid JSON");
}

TEST(Json, DuplicateKeysAreErrors) {
  EXPECT_USER_ERROR(parse_json("{\"a\": 1,\n\"b\": {\"a\": 1},\n\"a\": 2}", "t"),
                    "t:3:3: key \"a\" stands twice in one object; remove one");
}

TEST(Json, DeepNestingIsRefusedNotOverflowed) {
  EXPECT_NO_THROW(parse_json(std::string(256, '[') + std::string(256, ']'), "t"));
  EXPECT_USER_ERROR(parse_json(std::string(257, '[') + std::string(257, ']'), "t"), "t:1:257: nested deeper than 256 levels");
  EXPECT_USER_ERROR(parse_json(std::string(1'000'000, '['), "t"), "nested deeper than 256 levels");
}

TEST(Json, ReadsFiles) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a.json", "\xEF\xBB\xBF{\"a\": 1}\n");
  EXPECT_EQ(read_json(folder / "a.json").find("a")->integer(), 1);
  test::put_file(folder / "b.json", "{\"a\" 1}");
  EXPECT_USER_ERROR(read_json(folder / "b.json"), "b.json:1:6: not valid JSON");
  EXPECT_USER_ERROR(read_json(folder / "c.json"), "no such file or directory");
}

}  // namespace
}  // namespace reprise
