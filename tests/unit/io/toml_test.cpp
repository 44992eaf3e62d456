// SPDX-License-Identifier: Apache-2.0
#include "io/toml.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

extern "C" int fuzz_toml(const std::uint8_t* data, std::size_t size);  // tests/fuzz/toml_fuzz.cpp

namespace reprise {
namespace {

TEST(Toml, GivesDottedKeysInFileOrder) {
  const auto entries =
      parse_toml("z = 1\na = \"x\"\n\n[model]\nn_layers = 2\nrate = 5e-4\n[model.rope]\non = true\nlist = [1, \"b\", 2.5]\n", "t");
  std::vector<std::string> keys;
  for (const TomlEntry& entry : entries) keys.push_back(entry.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"z", "a", "model.n_layers", "model.rate", "model.rope.on", "model.rope.list"}));
  EXPECT_EQ(entries[0].value, TomlValue(std::int64_t{1}));
  EXPECT_EQ(entries[1].value, TomlValue(std::string("x")));
  EXPECT_EQ(entries[3].value, TomlValue(5e-4));
  EXPECT_EQ(entries[4].value, TomlValue(true));
  EXPECT_EQ(entries[5].value, TomlValue(TomlList{std::int64_t{1}, std::string("b"), 2.5}));
  EXPECT_EQ(entries[2].line, 5);
  EXPECT_EQ(entries[5].line, 9);
}

TEST(Toml, ValuesReadBackEqual) {
  const std::vector<TomlValue> values{true, false, std::int64_t{-7}, std::numeric_limits<std::int64_t>::max(), 0.1, 1.0, 1e300,
                                      std::numeric_limits<double>::infinity(), std::string("q\" b\\ n\n t\t r\r \x01 \xC3\xA9"), TomlList{},
                                      TomlList{false, std::int64_t{2}, std::string("x, y")}};
  for (const TomlValue& value : values) {
    const std::string text = write_toml_value(value);
    const auto entries = parse_toml("k = " + text + "\n", "t");
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].value, value) << text;
  }
  EXPECT_EQ(write_toml_value(std::nan("")), "nan");
  EXPECT_EQ(write_toml_value(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Toml, ErrorsNameFileAndLine) {
  EXPECT_USER_ERROR(parse_toml("a = 1\nb = \n", "c.toml"), "c.toml:2:5: not valid TOML: error while parsing");
  EXPECT_USER_ERROR(parse_toml("a = 1\na = 2\n", "c.toml"), "c.toml:2:");
  EXPECT_USER_ERROR(parse_toml("a = 1\n[t]\nday = 2024-01-01\n", "c.toml"),
                    "c.toml:3: key \"t.day\" holds a date or time; use a boolean, number, string, or a list of those");
  EXPECT_USER_ERROR(parse_toml("a = [[1]]\n", "c.toml"), "c.toml:1: key \"a\" holds a list inside a list");
  EXPECT_USER_ERROR(parse_toml("[[a]]\nb = 1\n", "c.toml"), "key \"a\" holds a table inside a list");
}

TEST(Toml, ReadsFiles) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a.toml", "a = 1\n");
  EXPECT_EQ(read_toml(folder / "a.toml").at(0).key, "a");
  test::put_file(folder / "b.toml", "a\n");
  EXPECT_USER_ERROR(read_toml(folder / "b.toml"), "b.toml:1:");
  EXPECT_USER_ERROR(read_toml(folder / "c.toml"), "no such file or directory");
}

void feed(const std::string& text) { fuzz_toml(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()); }

TEST(TomlFuzz, ReplaysItsCorpus) {
  const std::string seed =
      "# a comment\nname = \"x \\u00e9\"\nraw = 'a\\b'\nmany = \"\"\"\na\nb\"\"\"\n\"odd key\" = 0x1F\nrate = 1e-3\nbig = inf\n"
      "none = nan\non = true\nlist = [1, 2.5, \"c\", false]\n[table.sub]\nkey = -7\ntime = 07:32:00\n";
  for (std::size_t size = 0; size <= seed.size(); ++size) feed(seed.substr(0, size));
  for (std::size_t at = 0; at < seed.size(); ++at) {
    for (const char c : {'"', '\'', '\\', '=', '[', ']', '.', '\n', '\0', '\xff', '9', '#'}) {
      std::string changed = seed;
      changed[at] = c;
      feed(changed);
    }
  }
}

}  // namespace
}  // namespace reprise
