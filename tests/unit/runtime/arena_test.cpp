// SPDX-License-Identifier: Apache-2.0
// The arena is lazily touched zeros with a guard behind them, and says by address how far it was written.
#include "runtime/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "support/expect_error.h"

namespace reprise {
namespace {

std::size_t resident_pages(const Arena& arena) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((static_cast<std::size_t>(arena.bytes()) + page - 1) / page);
  EXPECT_EQ(mincore(arena.data(), static_cast<std::size_t>(arena.bytes()), pages.data()), 0);
  std::size_t count = 0;
  for (const unsigned char state : pages) count += state & 1u;
  return count;
}

TEST(Arena, TouchesNoPageUntilWritten) {
  const Arena arena(64 << 20);
  EXPECT_EQ(resident_pages(arena), 0U);
  arena.data()[5 << 20] = std::byte{1};
  EXPECT_GE(resident_pages(arena), 1U);
  EXPECT_EQ(arena.data()[(64 << 20) - 1], std::byte{0});
}

TEST(Arena, HighWaterIsTheLastByteThatDiffers) {
  Arena arena(10'000);
  arena.fill(std::byte{0xA5});
  EXPECT_EQ(arena.high_water(std::byte{0xA5}), 0);
  arena.data()[9'000] = std::byte{0xA4};
  EXPECT_EQ(arena.high_water(std::byte{0xA5}), 9'001);
  arena.data()[10'000] = std::byte{1};  // beyond the end, within the last page: seen all the same
  EXPECT_EQ(arena.high_water(std::byte{0xA5}), 10'001);
  arena.fill(std::byte{0xA5}, 9'000);
  EXPECT_EQ(arena.high_water(std::byte{0xA5}), 0);
}

TEST(Arena, EmptyArena) {
  Arena arena(0);
  arena.fill(std::byte{1});
  EXPECT_EQ(arena.high_water(std::byte{1}), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ArenaDeathTest, TheGuardPageCannotBeTouched) {
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  const Arena arena(page);
  EXPECT_DEATH(*const_cast<volatile std::byte*>(arena.data() + page) = std::byte{1}, "");
}
#endif

TEST(RequireMemory, NamesNeedAndAvailabilityAndWhatFits) {
  require_memory(1'000, 1'000, "the step", "");
  EXPECT_USER_ERROR(require_memory(2'500'000, 1'500'000, "the step", "reprise train --micro_batch_size 2"),
                    "not enough memory for the step: 2.5 MB needed, 1.5 MB available (2500000 and 1500000 bytes); this fits: "
                    "reprise train --micro_batch_size 2");
}

}  // namespace
}  // namespace reprise
