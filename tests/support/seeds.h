// SPDX-License-Identifier: Apache-2.0
// Seeds of property tests. REPRISE_RANDOM_PROGRAMS: how many; REPRISE_SEED: this one alone.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace reprise::test {

inline std::vector<std::uint64_t> seeds() {
  if (const char* const one = std::getenv("REPRISE_SEED")) return {std::strtoull(one, nullptr, 10)};
  const char* const count = std::getenv("REPRISE_RANDOM_PROGRAMS");
  std::vector<std::uint64_t> all(count == nullptr ? 100 : std::strtoull(count, nullptr, 10));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i + 1;
  return all;
}

/// Runs `check` on every seed; says which seed failed, and how to run it again.
inline void for_each_seed(const std::function<void(std::uint64_t)>& check) {
  for (const std::uint64_t seed : seeds()) {
    SCOPED_TRACE("run again with REPRISE_SEED=" + std::to_string(seed));
    try {
      check(seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace reprise::test
