// SPDX-License-Identifier: Apache-2.0
// Philox draws: dropout, uniform and normal fills.
#include "base/elementary_wide.h"
#include "executor/loops/kernels/draw_words.h"
#include "executor/loops/kernels/fill_tables.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

template <class E, class T>
void dropout(const E* x, E* y, T p, std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end) {
  for_each_draw(seed, first, begin, end,
                [=](std::size_t i, std::uint32_t word) { store_element(y, i, rows::dropout(load_element(x, i), word, p)); });
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
