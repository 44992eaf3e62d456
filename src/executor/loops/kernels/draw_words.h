// SPDX-License-Identifier: Apache-2.0
// Philox words of neighbouring elements. Blocks of four words are made 32 at a time, so that the rounds vectorise.
#pragma once

#include "base/philox.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {

inline constexpr std::size_t kDrawBlocks = 32;
inline constexpr std::size_t kDrawWords = 4 * kDrawBlocks;

/// Words [4 * block, 4 * block + 128) of the stream.
REPRISE_INLINE void draw_words(std::uint64_t seed, std::uint64_t block, std::uint32_t* words) {
  PhiloxBlock blocks[kDrawBlocks];
  for (std::size_t i = 0; i < kDrawBlocks; ++i) blocks[i] = philox_block(seed, block + i);
  for (std::size_t i = 0; i < kDrawBlocks; ++i) {
    for (std::size_t w = 0; w < 4; ++w) words[4 * i + w] = blocks[i].words[w];
  }
}

/// Calls f(element, word) for elements [begin, end), element i having word first + i; f sees runs of neighbouring elements.
template <class F>
REPRISE_INLINE void for_each_draw(std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end, const F& f) {
  alignas(64) std::uint32_t words[kDrawWords];
  std::size_t i = begin;
  while (i < end) {
    const std::uint64_t word = first + i;
    draw_words(seed, word >> 2, words);
    const std::size_t skip = static_cast<std::size_t>(word & 3u);
    const std::size_t run = kDrawWords - skip < end - i ? kDrawWords - skip : end - i;
    for (std::size_t j = 0; j < run; ++j) f(i + j, words[skip + j]);
    i += run;
  }
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
