// SPDX-License-Identifier: Apache-2.0
// A table of names against the map of the standard library.
#include "ir/name_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

namespace reprise {
namespace {

TEST(NameTable, EmptyHoldsNothing) {
  const NameTable table;
  EXPECT_FALSE(table.contains(""));
  EXPECT_FALSE(table.contains("x"));
  EXPECT_EQ(table.find("x"), std::nullopt);
}

TEST(NameTable, AgreesWithAMap) {
  std::mt19937 random(3);
  for (const bool reserved : {false, true}) {
    NameTable table;
    if (reserved) table.reserve(3000);
    std::unordered_map<std::string, std::uint32_t> map;
    for (std::uint32_t step = 0; step < 20'000; ++step) {
      // Of few letters, so that names repeat, are beginnings of others, and one is empty.
      std::string name;
      for (std::size_t length = random() % 8; length > 0; --length) name += static_cast<char>('a' + random() % 3);
      const auto found = map.find(name);
      EXPECT_EQ(table.contains(name), found != map.end());
      EXPECT_EQ(table.find(name), found == map.end() ? std::nullopt : std::optional(found->second));
      if (found != map.end() && step % 3 == 0) {
        table.set(name, step);
        found->second = step;
      } else if (step % 3 == 1) {
        EXPECT_EQ(table.insert(name, step), map.emplace(name, step).second);
      }
    }
    const NameTable copy = table;
    for (const auto& [name, number] : map) EXPECT_EQ(copy.find(name), number);
  }
}

}  // namespace
}  // namespace reprise
