// SPDX-License-Identifier: Apache-2.0
// Sets of bytes and the gaps beside them, against tables with an entry for every byte and position.
#include "memory/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace reprise {
namespace {

/// The maximal runs of true.
std::vector<ByteRange> runs(const std::vector<bool>& bytes) {
  std::vector<ByteRange> found;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!bytes[i]) continue;
    if (i == 0 || !bytes[i - 1]) found.push_back({static_cast<std::int64_t>(i), 0});
    found.back().end = static_cast<std::int64_t>(i) + 1;
  }
  return found;
}

ByteRange random_range(std::mt19937& random, std::int64_t bytes, std::int64_t longest) {
  const auto begin = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bytes));
  const auto length = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest));
  return {begin, std::min(bytes, begin + length)};
}

TEST(ByteSet, HoldsTheRunsOfATableOfBytes) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 200; ++instance) {
    ByteSet set;
    std::vector<bool> table(60);
    for (int step = 0; step < 30; ++step) {
      const ByteRange range = random_range(random, 60, 1 + instance % 12);
      bool grew = false;
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        grew = grew || !table[static_cast<std::size_t>(i)];
        table[static_cast<std::size_t>(i)] = true;
      }
      EXPECT_EQ(set.add(range), grew);
      ASSERT_EQ(set.ranges(), runs(table));
    }
    set.clear();
    EXPECT_TRUE(set.ranges().empty());
  }
}

/// The gaps from byte 0 on that are free at all positions first .. last and lie below a taken byte, and the end of what is taken.
struct Gaps {
  std::vector<ByteRange> below;
  std::int64_t end = 0;
  friend bool operator==(const Gaps&, const Gaps&) = default;
};

Gaps gaps_of(Occupancy& occupancy, std::size_t first, std::size_t last) {
  Gaps gaps;
  gaps.end = occupancy.visit_gaps(first, last, [&](ByteRange gap) {
    gaps.below.push_back(gap);
    return false;
  });
  return gaps;
}

Gaps gaps_of_table(const std::vector<std::vector<bool>>& taken, std::size_t first, std::size_t last) {
  std::vector<bool> free(taken[0].size(), true);
  std::size_t end = 0;
  for (std::size_t byte = 0; byte < free.size(); ++byte) {
    for (std::size_t position = first; position <= last; ++position) free[byte] = free[byte] && !taken[position][byte];
    if (!free[byte]) end = byte + 1;
  }
  free.resize(end);
  return {runs(free), static_cast<std::int64_t>(end)};
}

TEST(Occupancy, FindsTheGapsOfATableOfBytesAndPositions) {
  constexpr std::int64_t kBytes = 50;
  std::mt19937 random(2);
  for (std::size_t positions = 1; positions <= 20; ++positions) {
    Occupancy occupancy(positions);
    std::vector<std::vector<bool>> taken(positions, std::vector<bool>(kBytes));
    for (int step = 0; step < 25; ++step) {
      const std::size_t first = random() % positions;
      const std::size_t last = first + random() % (positions - first);
      const ByteRange range = random_range(random, kBytes, 4);
      occupancy.take(range, first, last);
      for (std::size_t position = first; position <= last; ++position) {
        for (std::int64_t i = range.begin; i < range.end; ++i) taken[position][static_cast<std::size_t>(i)] = true;
      }
      for (std::size_t from = 0; from < positions; ++from) {
        for (std::size_t to = from; to < positions; ++to) ASSERT_EQ(gaps_of(occupancy, from, to), gaps_of_table(taken, from, to));
      }
    }
    occupancy.clear();
    EXPECT_EQ(gaps_of(occupancy, 0, positions - 1), Gaps());
  }
}

TEST(Occupancy, StopsAtTheGapThatIsTaken) {
  Occupancy occupancy(4);
  occupancy.take({0, 2}, 0, 3);
  occupancy.take({3, 4}, 0, 1);
  occupancy.take({6, 7}, 2, 2);
  std::vector<ByteRange> seen;
  const std::int64_t stopped_at = occupancy.visit_gaps(0, 3, [&](ByteRange gap) {
    seen.push_back(gap);
    return gap.begin == 2;
  });
  EXPECT_EQ(seen, std::vector<ByteRange>({{2, 3}}));
  EXPECT_EQ(stopped_at, 2);
}

}  // namespace
}  // namespace reprise
