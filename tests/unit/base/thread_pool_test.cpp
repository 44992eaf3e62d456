// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace reprise {
namespace {

TEST(ThreadPool, RangesCoverEveryItemOnceAndInOrder) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const std::size_t items : {0u, 1u, 2u, 6u, 7u, 8u, 1000u}) {
      std::size_t next = 0;
      for (int thread = 0; thread < threads; ++thread) {
        const ItemRange range = static_range(items, thread, threads);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.end - range.begin, items / static_cast<std::size_t>(threads) + 1);
        next = range.end;
      }
      EXPECT_EQ(next, items);
    }
  }
}

TEST(ThreadPool, EveryItemOnceByItsOwnThreadManyTimes) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    std::vector<int> owner(23);
    for (int round = 0; round < 200; ++round) {
      for (int& o : owner) o = -1;
      pool.parallel_for(owner.size(), [&](std::size_t begin, std::size_t end, int thread) {
        for (std::size_t i = begin; i < end; ++i) owner[i] = thread;
      });
      for (std::size_t i = 0; i < owner.size(); ++i) {
        const ItemRange range = static_range(owner.size(), owner[i], threads);
        ASSERT_TRUE(i >= range.begin && i < range.end);
      }
    }
  }
}

TEST(ThreadPool, WakesAfterParking) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::vector<int> hit(2);
    pool.parallel_for(2, [&](std::size_t begin, std::size_t end, int) {
      std::this_thread::sleep_for(std::chrono::milliseconds(begin * 5));  // the caller parks too
      for (std::size_t i = begin; i < end; ++i) hit[i] = 1;
    });
    EXPECT_EQ(hit, std::vector<int>({1, 1}));
  }
}

TEST(ThreadPool, RethrowsTheFirstErrorAndStaysUsable) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    try {
      pool.parallel_for(3, [](std::size_t begin, std::size_t, int) {
        if (begin > 0) throw std::runtime_error("item " + std::to_string(begin));
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "item 1");
    }
    int total[3] = {};
    pool.on_every_thread([&](int thread) { total[thread] = thread + 1; });
    EXPECT_EQ(total[0] + total[1] + total[2], 6);
  }
}

TEST(ThreadPool, SeveralPoolsAtOnce) {
  std::vector<std::thread> callers;
  std::vector<long> sums(3);
  for (std::size_t c = 0; c < 3; ++c) {
    callers.emplace_back([&sums, c] {
      ThreadPool pool(2);
      for (int round = 0; round < 50; ++round) {
        long part[2] = {};
        pool.parallel_for(100, [&](std::size_t begin, std::size_t end, int thread) { part[thread] += static_cast<long>(end - begin); });
        sums[c] += part[0] + part[1];
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<long>({5000, 5000, 5000}));
}

}  // namespace
}  // namespace reprise
