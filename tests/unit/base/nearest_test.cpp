// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace reprise {
namespace {

TEST(Nearest, DistanceCountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);  // optimal string alignment, not full Damerau-Levenshtein
  EXPECT_EQ(edit_distance("Max-Steps", "max_steps"), 0u);
  EXPECT_EQ(edit_distance("abcdef", "abdf"), 2u);
}

TEST(Nearest, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 5> kNames{"max_steps", "max_norm", "min_lr", "Llama-2-7b-hf", "pythia-160m"};
  EXPECT_EQ(nearest_name("max_step", kNames), "max_steps");
  EXPECT_EQ(nearest_name("mxa_norm", kNames), "max_norm");
  EXPECT_EQ(nearest_name("llama_2_7b_hf", kNames), "Llama-2-7b-hf");
  EXPECT_EQ(nearest_name("pyth", kNames), "pythia-160m");
  EXPECT_EQ(nearest_name("pythia-160", kNames), "pythia-160m");
  EXPECT_EQ(nearest_name("temperature", kNames), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(Nearest, HintIsEmptyOrAQuestion) {
  constexpr std::array<std::string_view, 1> kNames{"cosine"};
  EXPECT_EQ(nearest_hint("cosin", kNames), "; did you mean \"cosine\"?");
  EXPECT_EQ(nearest_hint("wsd", kNames), "");
}

TEST(Nearest, NamesAreListedWhereNoneIsNear) {
  constexpr std::array<std::string_view, 8> kNames{"block0", "block1", "block2", "block3", "block4", "block5", "block6", "block7"};
  EXPECT_EQ(names_hint("blok0", kNames), "; did you mean \"block0\"?");
  EXPECT_EQ(names_hint("attention*", kNames), "; there are block0, block1, block2, block3, block4, block5 and 2 more");
  EXPECT_EQ(names_hint("attention*", std::span(kNames).first(2)), "; there are block0, block1");
  EXPECT_EQ(names_hint("attention*", {}), "");
}

}  // namespace
}  // namespace reprise
