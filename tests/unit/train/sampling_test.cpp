// SPDX-License-Identifier: Apache-2.0
#include "train/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "support/expect_error.h"

namespace reprise {
namespace {

const std::vector<float> kLogits = {1.0f, 3.0f, 2.0f, 3.0f, -std::numeric_limits<float>::infinity(), 9.0f};
constexpr std::int64_t kVocabulary = 5;  // the 9 is padding

std::vector<double> shares(const SamplingOptions& options, std::uint64_t draws) {
  Sampler sampler(options);
  std::vector<double> share(static_cast<std::size_t>(kVocabulary));
  for (std::uint64_t i = 0; i < draws; ++i) {
    share[static_cast<std::size_t>(sampler.draw(kLogits, kVocabulary, i))] += 1.0 / static_cast<double>(draws);
  }
  return share;
}

TEST(Sampler, ZeroTemperatureTakesTheFirstOfTheLikeliest) {
  Sampler sampler({.temperature = 0});
  EXPECT_EQ(sampler.draw(kLogits, kVocabulary, 0), 1);
}

TEST(Sampler, DrawsBySoftmaxOfLogitsOverTemperature) {
  constexpr std::uint64_t kDraws = 20000;
  const std::vector<double> share = shares({.temperature = 2, .seed = 5}, kDraws);
  double total = 0;
  for (int i = 0; i < 4; ++i) total += std::exp(static_cast<double>(kLogits[static_cast<std::size_t>(i)]) / 2);
  for (std::size_t i = 0; i < 4; ++i) {
    const double p = std::exp(static_cast<double>(kLogits[i]) / 2) / total;
    const double deviation = std::sqrt(p * (1 - p) / static_cast<double>(kDraws));
    EXPECT_NEAR(share[i], p, 5 * deviation) << i;
  }
  EXPECT_EQ(share[4], 0);
}

TEST(Sampler, TopKAndTopPLeaveTheRestOut) {
  const std::vector<double> two = shares({.temperature = 1, .top_k = 2}, 500);
  EXPECT_EQ(two[0] + two[2], 0);
  EXPECT_GT(two[1], 0);
  EXPECT_GT(two[3], 0);
  const std::vector<double> one = shares({.temperature = 1, .top_p = 0.1}, 100);
  EXPECT_EQ(one[0] + one[2] + one[3] + one[4], 0);
}

TEST(Sampler, SameSeedSameTokens) {
  Sampler a({.temperature = 1, .seed = 3});
  Sampler b({.temperature = 1, .seed = 3});
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(a.draw(kLogits, kVocabulary, i), b.draw(kLogits, kVocabulary, i));
}

TEST(Sampler, BrokenLogitsAreErrors) {
  Sampler sampler({.temperature = 1});
  const std::vector<float> nan = {0.0f, std::nanf("")};
  EXPECT_USER_ERROR(sampler.draw(nan, 2, 0), "gives NaN for token 1");
  const std::vector<float> none(2, -std::numeric_limits<float>::infinity());
  EXPECT_USER_ERROR(sampler.draw(none, 2, 0), "the model allows no token");
}

}  // namespace
}  // namespace reprise
