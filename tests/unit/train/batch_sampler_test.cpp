// SPDX-License-Identifier: Apache-2.0
#include "train/batch_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "support/expect_error.h"

namespace reprise {
namespace {

std::vector<std::uint16_t> counting(std::int64_t count) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
  return tokens;
}

/// The window starts of `epoch`, in the order they are dealt out.
std::vector<std::int64_t> starts_of_epoch(const BatchSampler& sampler, std::int64_t epoch) {
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < sampler.windows_per_epoch(); ++i) {
    starts.push_back(sampler.window_start(epoch * sampler.windows_per_epoch() + i, 0, 0));
  }
  return starts;
}

TEST(BatchSampler, AnEpochHasEachOfItsWindowsOnce) {
  for (const std::int64_t count : {9, 16, 17, 24, 100, 1000, 4097, 60'000}) {
    for (const std::int64_t block : {1, 3, 8}) {
      const BatchSampler sampler(count, {.block_size = block, .micro_batch_size = 1, .seed = 11});
      EXPECT_GE(sampler.windows_per_epoch() * block, count - 2 * block);
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        std::vector<std::int64_t> starts = starts_of_epoch(sampler, epoch);
        std::sort(starts.begin(), starts.end());
        ASSERT_GE(starts.front(), 0);
        ASSERT_LT(starts.front(), block);
        for (std::size_t i = 1; i < starts.size(); ++i) ASSERT_EQ(starts[i], starts[i - 1] + block);
        ASSERT_LE(starts.back() + block + 1, count);  // the last target is there
      }
    }
  }
}

TEST(BatchSampler, OrderAndCutsChangeWithEpochAndSeed) {
  const BatchSampler sampler(10'000, {.block_size = 64, .micro_batch_size = 1, .seed = 1});
  const BatchSampler other(10'000, {.block_size = 64, .micro_batch_size = 1, .seed = 2});
  const auto first = starts_of_epoch(sampler, 0);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  EXPECT_NE(first, starts_of_epoch(sampler, 1));
  EXPECT_NE(first, starts_of_epoch(other, 0));
  EXPECT_EQ(first, starts_of_epoch(BatchSampler(10'000, {.block_size = 64, .micro_batch_size = 1, .seed = 1}), 0));
  std::set<std::int64_t> offsets;
  for (std::int64_t epoch = 0; epoch < 400; ++epoch) {
    const auto starts = starts_of_epoch(sampler, epoch);
    offsets.insert(*std::min_element(starts.begin(), starts.end()));
  }
  EXPECT_GT(offsets.size(), 56u);  // of 64; 400 draws leave out 0.1 on average
}

// A shuffle leaves no trace of the place: the average place of each window over many epochs is the middle.
TEST(BatchSampler, EachWindowComesEarlyAsOftenAsLate) {
  constexpr std::int64_t kEpochs = 4000;
  const BatchSampler sampler(12, {.block_size = 1, .micro_batch_size = 1, .seed = 3});
  ASSERT_EQ(sampler.windows_per_epoch(), 11);
  std::vector<double> sum(11);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto starts = starts_of_epoch(sampler, epoch);
    for (std::size_t place = 0; place < starts.size(); ++place) {
      sum[static_cast<std::size_t>(starts[place])] += static_cast<double>(place);
    }
  }
  // Standard deviation of a mean of 4000 uniform places out of 11: sqrt(10) / sqrt(4000) = 0.05.
  for (const double total : sum) EXPECT_NEAR(total / kEpochs, 5.0, 0.25);
}

TEST(BatchSampler, TargetsAreTheNextTokens) {
  const auto tokens = counting(200);
  const BatchSampler sampler(200, {.block_size = 8, .micro_batch_size = 3, .micro_steps = 2, .seed = 5});
  std::vector<std::int64_t> inputs(24);
  std::vector<std::int64_t> targets(24);
  sampler.fill(4, 1, std::span(tokens), BatchSpans<std::int64_t>{inputs, targets, {}});
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t t = 0; t < 8; ++t) {
      const auto at = static_cast<std::size_t>(row * 8 + t);
      EXPECT_EQ(inputs[at], sampler.window_start(4, 1, row) + t);
      EXPECT_EQ(targets[at], inputs[at] + 1);
    }
  }
  const std::vector<std::uint32_t> wide(tokens.begin(), tokens.end());
  std::vector<std::int32_t> inputs32(24);
  std::vector<std::int32_t> targets32(24);
  sampler.fill(4, 1, std::span(wide), BatchSpans<std::int32_t>{inputs32, targets32, {}});
  EXPECT_TRUE(std::equal(inputs.begin(), inputs.end(), inputs32.begin()));
  EXPECT_TRUE(std::equal(targets.begin(), targets.end(), targets32.begin()));
}

TEST(BatchSampler, TokensThatAreOnlyReadAreNoTargets) {
  const auto tokens = counting(64);
  const std::vector<std::byte> bits(8, std::byte{0x0F});  // of every eight tokens the first four
  const TokenView view = TokenView(std::span(tokens)).with_targets(bits);
  const BatchSampler sampler(64, {.block_size = 8, .micro_batch_size = 2, .micro_steps = 2, .seed = 5});
  std::int64_t kept = 0;
  for (const std::int64_t micro : {0, 1}) {
    std::vector<std::int64_t> inputs(16);
    std::vector<std::int64_t> targets(16);
    sampler.fill(3, micro, view, BatchSpans<std::int64_t>{inputs, targets, {}});
    for (std::size_t i = 0; i < targets.size(); ++i) {
      EXPECT_EQ(targets[i], (inputs[i] + 1) % 8 < 4 ? inputs[i] + 1 : kIgnoredTarget);
      kept += targets[i] == kIgnoredTarget ? 0 : 1;
    }
  }
  EXPECT_EQ(sampler.kept_targets(3, view), kept);
  EXPECT_EQ(sampler.kept_targets(3, std::span(tokens)), 32);
}

TEST(BatchSampler, MicroStepsDoNotChangeWhatAStepReads) {
  const BatchSampler whole(5000, {.block_size = 16, .micro_batch_size = 12, .micro_steps = 1, .seed = 9});
  const BatchSampler cut(5000, {.block_size = 16, .micro_batch_size = 4, .micro_steps = 3, .seed = 9});
  for (const std::int64_t step : {0, 1, 7, 1000}) {
    for (std::int64_t row = 0; row < 12; ++row) {
      EXPECT_EQ(whole.window_start(step, 0, row), cut.window_start(step, row / 4, row % 4));
    }
  }
}

// The order is part of what a run is: a change of it breaks the resuming of old runs. Figures by a program in Python.
TEST(BatchSampler, OrderStaysWhatItWas) {
  const BatchSampler sampler(1000, {.block_size = 10, .micro_batch_size = 8, .seed = 42});
  std::vector<std::int64_t> starts;
  for (std::int64_t row = 0; row < 8; ++row) starts.push_back(sampler.window_start(0, 0, row));
  EXPECT_EQ(starts, (std::vector<std::int64_t>{762, 82, 452, 242, 402, 392, 212, 322}));
}

TEST(BatchSampler, RefusesTextShorterThanABlock) {
  EXPECT_USER_ERROR(BatchSampler(256, {.block_size = 256, .micro_batch_size = 1}),
                    "shorter than a block: 257 tokens needed (block_size + 1), 256 there; use more text or --block_size 255 "
                    "or less");
  EXPECT_EQ(BatchSampler(257, {.block_size = 256, .micro_batch_size = 1}).window_start(0, 0, 0), 0);
}

TEST(BatchSampler, RefusesBuffersOfAnotherSize) {
  const auto tokens = counting(100);
  const BatchSampler sampler(100, {.block_size = 4, .micro_batch_size = 2});
  std::vector<std::int32_t> eight(8);
  std::vector<std::int32_t> seven(7);
  EXPECT_INTERNAL_ERROR(sampler.fill(0, 0, std::span(tokens), BatchSpans<std::int32_t>{seven, eight, {}}),
                        "[micro_batch_size, block_size]");
  EXPECT_INTERNAL_ERROR(sampler.fill(0, 0, std::span(tokens).first(99), BatchSpans<std::int32_t>{eight, eight, {}}), "not those");
  EXPECT_INTERNAL_ERROR(sampler.fill(0, 0, std::span(tokens), BatchSpans<std::int32_t>{eight, eight, eight}), "windows have none");
}

TEST(ValidationBatches, EveryTokenIsATargetOnce) {
  for (const std::int64_t count : {2, 9, 10, 17, 32, 33, 100}) {
    const auto tokens = counting(count);
    const ValidationBatches batches(count, 8, 2);
    std::vector<std::int64_t> seen;
    std::vector<std::int64_t> inputs(16);
    std::vector<std::int64_t> targets(16);
    for (std::int64_t batch = 0; batch < batches.batch_count(); ++batch) {
      batches.fill(batch, std::span(tokens), BatchSpans<std::int64_t>{inputs, targets, {}});
      std::size_t kept = 0;
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] == kIgnoredTarget) {
          EXPECT_EQ(inputs[i], 0);
          continue;
        }
        ++kept;
        EXPECT_EQ(inputs[i] + 1, targets[i]);
        seen.push_back(targets[i]);
      }
      EXPECT_GT(kept, 0u) << "a batch without work";
    }
    std::vector<std::int64_t> expected(static_cast<std::size_t>(count - 1));
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(seen, expected);
  }
}

TEST(ValidationBatches, RefusesTooFewTokens) {
  EXPECT_USER_ERROR(ValidationBatches(1, 8, 2), "validation text is too short: at least 2 tokens needed, 1 there");
}

}  // namespace
}  // namespace reprise
