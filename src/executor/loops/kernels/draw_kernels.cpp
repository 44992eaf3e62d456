// SPDX-License-Identifier: Apache-2.0
// Philox draws: dropout, uniform and normal fills. Blocks of four words are made 32 at a time, so that the rounds vectorise.
#include "base/elementary_wide.h"
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

inline constexpr std::size_t kBlocks = 32;
inline constexpr std::size_t kWords = 4 * kBlocks;

/// Words [4 * block, 4 * block + 128) of the stream.
REPRISE_INLINE void draw_words(std::uint64_t seed, std::uint64_t block, std::uint32_t* words) {
  PhiloxBlock blocks[kBlocks];
  for (std::size_t i = 0; i < kBlocks; ++i) blocks[i] = philox_block(seed, block + i);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    for (std::size_t w = 0; w < 4; ++w) words[4 * i + w] = blocks[i].words[w];
  }
}

/// Calls f(element, word) for elements [begin, end), element i having word first + i; f sees runs of neighbouring elements.
template <class F>
REPRISE_INLINE void for_each_draw(std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end, const F& f) {
  alignas(64) std::uint32_t words[kWords];
  std::size_t i = begin;
  while (i < end) {
    const std::uint64_t word = first + i;
    draw_words(seed, word >> 2, words);
    const std::size_t skip = static_cast<std::size_t>(word & 3u);
    const std::size_t run = kWords - skip < end - i ? kWords - skip : end - i;
    for (std::size_t j = 0; j < run; ++j) f(i + j, words[skip + j]);
    i += run;
  }
}

template <class E, class T>
void dropout(const E* x, E* y, T p, std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end) {
  for_each_draw(seed, first, begin, end, [=](std::size_t i, std::uint32_t word) { store_element(y, i, rows::dropout(load_element(x, i), word, p)); });
}

template <class E>
void uniform(E* y, std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end) {
  for_each_draw(seed, first, begin, end, [=](std::size_t i, std::uint32_t word) {
    if constexpr (__is_same(E, double)) {
      y[i] = uniform_double(word);
    } else {
      store_element(y, i, uniform_float(word));
    }
  });
}

template <class E>
void normal(E* y, std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint64_t word = first + i;
    const PhiloxBlock block = philox_block(seed, word >> 2);
    const std::uint64_t pair = word & 2u;
    const math::NormalPair draws = math::normal_pair(block.words[pair], block.words[pair + 1]);
    store_element(y, i, static_cast<Compute<E>>((word & 1u) != 0 ? draws.second : draws.first));
  }
}

template <class E, class T>
void fill(RowTable<E, T>& table) {
  table.dropout = dropout<E, T>;
  table.uniform = uniform<E>;
  table.normal = normal<E>;
}

}  // namespace

void fill_draws(Kernels& kernels) {
  fill(kernels.rows_f32);
  fill(kernels.rows_f64);
  fill(kernels.rows_bf16);
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
