// SPDX-License-Identifier: Apache-2.0
// Replays a fuzz target in a normal build: seeds and what random changes make of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace reprise::test {

/// Calls `fuzz(data, size)` on 3000 copies of every seed, each changed by `change(input, at, random)` at up to three places.
template <class Change, class Fuzz>
void replay_mutated(const std::vector<std::string>& corpus, std::uint32_t seed, const Change& change, const Fuzz& fuzz) {
  std::mt19937 random(seed);
  for (const std::string& original : corpus) {
    for (int round = 0; round < 3000; ++round) {
      std::string input = original;
      const auto changes = random() % 4;
      for (unsigned i = 0; i < changes && !input.empty(); ++i) change(input, random() % input.size(), random);
      // An exact heap copy, so that a sanitizer sees one byte too many.
      const std::vector<std::uint8_t> exact(input.begin(), input.end());
      fuzz(exact.data(), exact.size());
    }
  }
}

}  // namespace reprise::test
