// SPDX-License-Identifier: Apache-2.0
// Rotary tables against the definition, written out.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "nn/rope.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

GptConfig config_of(double rotary, std::int64_t head_size) {
  GptConfig config = named_config("toy-llama");
  config.head_size = head_size;
  config.rotary_percentage = rotary;
  return config;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(test::near(actual[i], expected[i], test::tolerance(DType::float64))) << i;
}

TEST(Rope, FrequenciesFallGeometrically) { expect_near(rope_frequencies(config_of(1, 8), 1), {1, 0.1, 0.01, 0.001}); }

TEST(Rope, OddWidthCutsTheSecondHalf) {
  const GptConfig config = config_of(0.375, 8);
  ASSERT_EQ(config.rope_n_elem(), 3);
  const double slow = std::pow(10000.0, -2.0 / 3);
  const RopeTables tables = rope_tables(config, 2);
  expect_near(tables.cos, {1, 1, 1, std::cos(1.0), std::cos(slow), std::cos(1.0)});
  expect_near(tables.sin, {0, 0, 0, std::sin(1.0), std::sin(slow), std::sin(1.0)});
}

TEST(Rope, NothingTurns) {
  EXPECT_TRUE(rope_tables(config_of(0, 8), 4).cos.empty());
  EXPECT_EQ(named_config("gpt2").rope_n_elem(), 0);
}

TEST(Rope, CondensedPositions) {
  GptConfig config = config_of(1, 4);
  config.rope_condense_ratio = 4;
  expect_near(rope_tables(config, 3).sin, {0, 0, 0, 0, std::sin(0.25), std::sin(0.0025), std::sin(0.25), std::sin(0.0025), std::sin(0.5),
                                           std::sin(0.005), std::sin(0.5), std::sin(0.005)});
}

TEST(Rope, LinearScaling) {
  GptConfig config = config_of(1, 8);
  config.rope_scaling = {RopeScaling::Kind::linear, 4, 1, 4, 8192};
  expect_near(rope_frequencies(config, 1), {0.25, 0.025, 0.0025, 0.00025});
}

TEST(Rope, Llama3KeepsShortWavesAndStretchesLongOnes) {
  GptConfig config = config_of(1, 8);
  config.rope_scaling = {RopeScaling::Kind::llama3, 8, 1, 4, 128};
  const double turns = 128 * 0.1 / (2 * 3.14159265358979323846);  // between 1 and 4: on the ramp
  const double kept = (turns - 1) / 3;
  expect_near(rope_frequencies(config, 1), {1, (1 - kept) * 0.1 / 8 + kept * 0.1, 0.01 / 8, 0.001 / 8});
}

}  // namespace
}  // namespace reprise
