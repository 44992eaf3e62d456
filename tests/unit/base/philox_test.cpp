// SPDX-License-Identifier: Apache-2.0
#include "base/philox.h"
#include "support/source_directory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace reprise {
namespace {

std::filesystem::path reference_folder() {
  const char* given = std::getenv("REPRISE_REFERENCE_DIR");
  return given ? given : (test::source_directory() / "../shared/data/reference").string();
}

using Words = std::array<std::uint32_t, 4>;

Words words(const PhiloxBlock& block) { return {block.words[0], block.words[1], block.words[2], block.words[3]}; }

// The three vectors published with Random123 for philox4x32-10.
TEST(Philox, PublishedKnownAnswers) {
  EXPECT_EQ(words(philox4x32(0, 0, 0, 0, 0, 0)), (Words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint32_t f = 0xffffffffu;
  EXPECT_EQ(words(philox4x32(f, f, f, f, f, f)), (Words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(words(philox4x32(0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u, 0xa4093822u, 0x299f31d0u)),
            (Words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, StreamsSubsequencesAndConversionsOfTheReference) {
  std::ifstream file(reference_folder() / "ops" / "philox.json");
  if (!file) GTEST_SKIP() << "no reference data in " << reference_folder();
  const nlohmann::json data = nlohmann::json::parse(file);
  for (const auto& stream : data["streams"]) {
    const auto seed = stream["seed"].get<std::uint64_t>();
    const auto first = stream["first_block"].get<std::uint64_t>();
    for (std::size_t i = 0; i < stream["draws"].size(); ++i) {
      const PhiloxBlock block = philox_block(seed, first + i / 4);
      ASSERT_EQ(block.words[i % 4], stream["draws"][i].get<std::uint32_t>()) << seed << " " << first << " " << i;
      if (first < (std::uint64_t{1} << 60)) {
        ASSERT_EQ(philox_word(seed, 4 * first + i), block.words[i % 4]);
      }
    }
  }
  for (const auto& entry : data["subsequences"]) {
    const PhiloxBlock block = philox_block(entry["seed"], entry["block"], entry["subsequence"]);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(block.words[i], entry["draws"][i].get<std::uint32_t>());
  }
  const auto& draws = data["streams"][1]["draws"];
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(uniform_float(draws[i]), data["conversions"]["uniform_24_bit"][i].get<float>());
    EXPECT_EQ(uniform_double(draws[i]), data["conversions"]["uniform_full_f64"][i].get<double>());
  }
}

TEST(Philox, BernoulliNeverAtZeroAlwaysAtOne) {
  EXPECT_FALSE(bernoulli(0u, 0.0f));
  EXPECT_TRUE(bernoulli(0xffffffffu, 1.0f));
  EXPECT_TRUE(bernoulli(0x7fffffffu, 0.5f));
  EXPECT_FALSE(bernoulli(0x80000000u, 0.5f));
}

}  // namespace
}  // namespace reprise
