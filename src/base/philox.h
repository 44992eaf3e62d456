// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and the rule that gives an element its draw.
// A draw depends on (seed, offset, index) alone, so a recomputed, tiled or re-ordered value sees the same numbers.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace reprise {

/// The four words of one Philox block.
struct PhiloxBlock {
  std::uint32_t words[4];
};

/// Encrypts a counter with ten rounds. `key0` is the low word of the seed.
REPRISE_INLINE PhiloxBlock philox4x32(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3,
                                      std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(product0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Draws block `block` of the stream (`seed`, `subsequence`): counter words 0 and 1 are the block, 2 and 3 the subsequence.
REPRISE_INLINE PhiloxBlock philox_block(std::uint64_t seed, std::uint64_t block, std::uint64_t subsequence = 0) {
  return philox4x32(static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                    static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32),
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// Draws word `index` of the stream: word index mod 4 of block index div 4. Element i of an op with offset o reads o + i.
REPRISE_INLINE std::uint32_t philox_word(std::uint64_t seed, std::uint64_t index, std::uint64_t subsequence = 0) {
  return philox_block(seed, index >> 2, subsequence).words[index & 3u];
}

/// Converts a word to a float in [0, 1): its upper 24 bits times 2^-24, exact.
REPRISE_INLINE float uniform_float(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
}

/// Converts a word to a double in [0, 1): the word times 2^-32, exact.
REPRISE_INLINE double uniform_double(std::uint32_t word) { return static_cast<double>(word) * 0x1p-32; }

/// Returns whether a draw falls below `probability`: P(true) = probability rounded up to a multiple of 2^-24. 0 never, 1 always.
REPRISE_INLINE bool bernoulli(std::uint32_t word, float probability) { return uniform_float(word) < probability; }

}  // namespace reprise
