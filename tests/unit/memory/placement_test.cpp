// SPDX-License-Identifier: Apache-2.0
// Placements never overlap, stay close to the lower bound, and match an exhaustive search on small instances.
#include "memory/placement.h"
#include "support/source_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>

namespace reprise {
namespace {

/// Returns the first pair of buffers alive together whose bytes overlap, or an empty text.
std::string first_overlap(const std::vector<Buffer>& buffers, const Placement& placement) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const bool apart = placement.offsets[i] + buffers[i].bytes <= placement.offsets[j] ||
                         placement.offsets[j] + buffers[j].bytes <= placement.offsets[i];
      if (together && !apart && buffers[i].bytes > 0 && buffers[j].bytes > 0) {
        return std::to_string(j) + " and " + std::to_string(i);
      }
    }
  }
  return "";
}

void expect_valid(const std::vector<Buffer>& buffers, const Placement& placement, std::int64_t alignment) {
  ASSERT_EQ(placement.offsets.size(), buffers.size());
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_GE(placement.offsets[i], 0);
    EXPECT_EQ(placement.offsets[i] % alignment, 0);
    if (buffers[i].bytes > 0) peak = std::max(peak, placement.offsets[i] + buffers[i].bytes);
  }
  EXPECT_EQ(placement.peak, peak);
  EXPECT_EQ(first_overlap(buffers, placement), "");
  EXPECT_GE(placement.peak, peak_live_bytes(buffers));
}

/// The smallest peak of all orders packed at the lowest gap: exact, because some optimal placement is bottom-left packed.
std::int64_t smallest_peak(const std::vector<Buffer>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  do {
    std::vector<std::int64_t> offsets(buffers.size(), -1);
    std::int64_t peak = 0;
    for (const std::size_t i : order) {
      std::int64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t j = 0; j < buffers.size(); ++j) {
          const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
          if (offsets[j] < 0 || !together) continue;
          if (offset < offsets[j] + buffers[j].bytes && offsets[j] < offset + buffers[i].bytes) {
            offset = offsets[j] + buffers[j].bytes;
            moved = true;
          }
        }
      }
      offsets[i] = offset;
      peak = std::max(peak, offset + buffers[i].bytes);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Placement, PeakLiveCountsInclusivePositions) {
  EXPECT_EQ(peak_live_bytes(std::vector<Buffer>{{10, 0, 1}, {20, 1, 2}, {5, 3, 3}}), 30);
  EXPECT_EQ(peak_live_bytes(std::vector<Buffer>{{10, 0, 0}, {20, 1, 2}, {5, 3, 3}}), 20);
  EXPECT_EQ(peak_live_bytes({}), 0);
}

TEST(Placement, EmptyAndZeroByteBuffers) {
  EXPECT_EQ(place_buffers({}).peak, 0);
  const std::vector<Buffer> buffers = {{0, 0, 5}, {64, 1, 2}, {0, 2, 2}};
  const Placement placement = place_buffers(buffers);
  expect_valid(buffers, placement, kArenaAlignment);
  EXPECT_EQ(placement.peak, 64);
}

TEST(Placement, AlignsEveryOffset) {
  const std::vector<Buffer> buffers = {{1, 0, 3}, {65, 0, 2}, {4, 2, 3}, {128, 1, 1}};
  expect_valid(buffers, place_buffers(buffers), kArenaAlignment);
}

TEST(Placement, SmallInstancesAgainstExhaustiveSearch) {
  std::mt19937 random(20260101);
  int optimal = 0;
  constexpr int kInstances = 200;
  for (int instance = 0; instance < kInstances; ++instance) {
    std::vector<Buffer> buffers(2 + random() % 6);
    for (Buffer& buffer : buffers) {
      buffer.bytes = 1 + static_cast<std::int64_t>(random() % 12);
      buffer.first = static_cast<std::int64_t>(random() % 8);
      buffer.last = buffer.first + static_cast<std::int64_t>(random() % 5);
    }
    const Placement placement = place_buffers(buffers, 1);
    expect_valid(buffers, placement, 1);
    const std::int64_t smallest = smallest_peak(buffers);
    EXPECT_GE(placement.peak, smallest) << "instance " << instance;
    EXPECT_LE(placement.peak * 4, smallest * 5) << "instance " << instance;
    if (placement.peak == smallest) ++optimal;
  }
  EXPECT_GE(optimal, kInstances * 95 / 100);
}

TEST(Placement, LargeRandomInstancesAreValid) {
  std::mt19937 random(7);
  for (const std::size_t count : {100U, 1500U}) {
    std::vector<Buffer> buffers(count);
    for (Buffer& buffer : buffers) {
      buffer.bytes = static_cast<std::int64_t>(random() % 100'000);
      buffer.first = static_cast<std::int64_t>(random() % count);
      buffer.last = buffer.first + static_cast<std::int64_t>(random() % (random() % 8 == 0 ? count : 12));
    }
    const Placement placement = place_buffers(buffers);
    expect_valid(buffers, placement, kArenaAlignment);
    EXPECT_EQ(placement.offsets, place_buffers(buffers).offsets) << "the same input gives the same plan";
  }
}

TEST(Placement, MinimallocBenchmark) {
  const char* const set = std::getenv("REPRISE_REFERENCE_DIR");
  const std::filesystem::path reference = set != nullptr ? set : (test::source_directory() / "../shared/data/reference").string();
  const std::filesystem::path folder = reference.parent_path() / "minimalloc";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no minimalloc instances beside " << reference;
  constexpr std::int64_t kCapacity = 1'048'576;  // each instance is known to fit
  for (const char* const name : {"A", "B", "C", "D", "E", "F"}) {
    std::ifstream file(folder / (std::string(name) + ".1048576.csv"));
    ASSERT_TRUE(file.is_open()) << name;
    std::vector<Buffer> buffers;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::replace(line.begin(), line.end(), ',', ' ');
      std::istringstream fields(line);
      std::int64_t id = 0;
      std::int64_t upper = 0;
      Buffer buffer;
      ASSERT_TRUE(fields >> id >> buffer.first >> upper >> buffer.bytes) << line;
      buffer.last = upper - 1;
      buffers.push_back(buffer);
    }
    const Placement placement = place_buffers(buffers, 1);
    expect_valid(buffers, placement, 1);
    const double ratio = static_cast<double>(placement.peak) / static_cast<double>(kCapacity);
    RecordProperty(std::string("ratio_") + name, std::to_string(ratio));
    std::printf("  %s: %zu buffers, %.4f of the known capacity, %.4f of the lower bound\n", name, buffers.size(), ratio,
                static_cast<double>(placement.peak) / static_cast<double>(peak_live_bytes(buffers)));
    EXPECT_LE(ratio, 1.25) << name;
  }
}

}  // namespace
}  // namespace reprise
