// SPDX-License-Identifier: Apache-2.0
// The attention tiles against the contract's row-by-row formula, bit for bit, at every instruction set this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "executor/loops/kernels.h"
#include "unit/loops/levels.h"

namespace reprise::loops {
namespace {

using attention::Config;
using attention::View;

struct Tensors {
  std::vector<float> q, k, v, dout;
};

template <class E>
View<E> dense(E* data, std::int64_t heads, std::int64_t rows, std::int64_t width) {
  return {data, {heads * rows * width, rows * width, width, 1}};
}

/// Heads next to each other within a row, as a transposed view of a projection has them: [B, T, H, D].
View<const float> interleaved(const std::vector<float>& data, std::int64_t heads, std::int64_t rows, std::int64_t width) {
  return {data.data(), {rows * heads * width, width, heads * width, 1}};
}

std::vector<float> numbers(std::int64_t n, std::uint64_t seed) {
  std::vector<float> result(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = random_float(seed, i);
  return result;
}

struct Results {
  std::vector<float> out, lse, dq, dk, dv;
};

template <class Forward, class Backward>
Results run(const Config& c, const Tensors& t, std::size_t workspace_elements, const Forward& forward, const Backward& backward,
            const std::int64_t* segments = nullptr) {
  Results r;
  r.out.resize(static_cast<std::size_t>(c.batch * c.q_heads * c.queries * c.value_width));
  r.lse.resize(static_cast<std::size_t>(c.batch * c.q_heads * c.queries));
  r.dq.resize(t.q.size());
  r.dk.resize(t.k.size());
  r.dv.resize(t.v.size());
  std::vector<float> workspace(workspace_elements, NAN);
  attention::Inputs<float> in;
  in.q = interleaved(t.q, c.q_heads, c.queries, c.width);
  in.k = interleaved(t.k, c.kv_heads, c.keys, c.width);
  in.v = interleaved(t.v, c.kv_heads, c.keys, c.value_width);
  in.segments = segments;
  const View<float> out = dense(r.out.data(), c.q_heads, c.queries, c.value_width);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.q_heads; ++h) forward(c, in, out, r.lse.data(), b, h, workspace.data());
  }
  attention::Gradients<float> grads;
  grads.dq = dense(r.dq.data(), c.q_heads, c.queries, c.width);
  grads.dk = dense(r.dk.data(), c.kv_heads, c.keys, c.width);
  grads.dv = dense(r.dv.data(), c.kv_heads, c.keys, c.value_width);
  const View<const float> saved{r.out.data(), {out.stride[0], out.stride[1], out.stride[2], 1}};
  const View<const float> dout = interleaved(t.dout, c.q_heads, c.queries, c.value_width);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t kv = 0; kv < c.kv_heads; ++kv) backward(c, in, saved, dout, r.lse.data(), grads, b, kv, workspace.data());
  }
  return r;
}

void expect_same(const std::vector<float>& a, const std::vector<float>& b, const char* name) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << name;
}

Tensors tensors_of(const Config& c) {
  return {numbers(c.batch * c.q_heads * c.queries * c.width, 1), numbers(c.batch * c.kv_heads * c.keys * c.width, 2),
                  numbers(c.batch * c.kv_heads * c.keys * c.value_width, 3), numbers(c.batch * c.q_heads * c.queries * c.value_width, 4)};
}

/// By the tiles of `level`.
Results run_tiles(const Config& c, const Tensors& t, IsaLevel level, const std::int64_t* segments = nullptr) {
  const AttentionTable& table = kernels_for(level).attention;
  return run(c, t, std::max(table.forward_workspace(c), table.backward_workspace(c)), table.forward_tiles, table.backward_tiles, segments);
}

void expect_tiles_keep_the_contract(const Config& c, const std::vector<std::int64_t>& segments = {}) {
  const Tensors t = tensors_of(c);
  const std::int64_t* const ids = segments.empty() ? nullptr : segments.data();
  const Kernels& best = kernels_for(levels_here().back());
  const Results expected =
      run(c, t, static_cast<std::size_t>(c.keys * (c.width + c.value_width) + c.width + 128 + c.value_width), best.attention_f32.forward,
          best.attention_f32.backward, ids);
  for (const IsaLevel level : levels_here()) {
    const Results result = run_tiles(c, t, level, ids);
    expect_same(result.out, expected.out, "out");
    expect_same(result.lse, expected.lse, "lse");
    expect_same(result.dq, expected.dq, "dq");
    expect_same(result.dk, expected.dk, "dk");
    expect_same(result.dv, expected.dv, "dv");
  }
}

TEST(AttentionTiles, Causal) {
  expect_tiles_keep_the_contract({.batch = 2, .q_heads = 2, .kv_heads = 2, .queries = 200, .keys = 200, .width = 64, .value_width = 64,
                                  .scale = 0.125, .causal = true});
}

TEST(AttentionTiles, FullGroupedAndOddWidths) {
  expect_tiles_keep_the_contract({.q_heads = 4, .kv_heads = 2, .queries = 70, .keys = 150, .width = 20, .value_width = 13, .scale = 0.3});
}

TEST(AttentionTiles, WindowAndOffset) {
  expect_tiles_keep_the_contract({.queries = 90, .keys = 300, .width = 16, .value_width = 16, .scale = 0.25, .causal = true, .offset = 210,
                                  .window = 77});
  expect_tiles_keep_the_contract({.queries = 40, .keys = 40, .width = 8, .value_width = 8, .scale = 0.25, .causal = true, .offset = -5});
}

TEST(AttentionTiles, SoftCapAndDropout) {
  expect_tiles_keep_the_contract(
      {.batch = 2, .q_heads = 2, .kv_heads = 1, .queries = 70, .keys = 150, .width = 16, .value_width = 16, .scale = 0.5, .softcap = 0.7});
  expect_tiles_keep_the_contract({.batch = 2, .q_heads = 2, .kv_heads = 1, .queries = 150, .keys = 150, .width = 16, .value_width = 16,
                                  .scale = 0.5, .causal = true, .softcap = 0.7, .dropout = 0.3, .seed = 5, .draw_offset = 8});
}

/// One query and a mask, as in generation: the tiles against the formula where the mask leaves one run of keys.
TEST(AttentionTiles, OneQueryWithAMask) {
  const std::int64_t keys = 300;
  const Config c{.batch = 2, .q_heads = 4, .kv_heads = 2, .keys = keys, .width = 24, .value_width = 20, .scale = 0.3};
  const std::vector<float> q = numbers(2 * 4 * 24, 1);
  const std::vector<float> k = numbers(2 * 2 * keys * 24, 2);
  const std::vector<float> v = numbers(2 * 2 * keys * 20, 3);
  for (const auto& [begin, end] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1}, {0, 128}, {0, 131}, {0, 300}, {130, 270}, {299, 300}, {7, 7}}) {
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(keys));
    std::fill(allowed.begin() + begin, allowed.begin() + end, std::uint8_t{1});
    attention::Inputs<float> in;
    in.q = interleaved(q, 4, 1, 24);
    in.k = interleaved(k, 2, keys, 24);
    in.v = interleaved(v, 2, keys, 20);
    in.mask = {allowed.data(), {0, 0, 0, 1}};
    const auto run_all = [&](const auto& forward, std::size_t elements) {
      std::vector<float> workspace(elements, NAN);
      std::vector<float> out(2 * 4 * 20 + 2 * 4);
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t h = 0; h < 4; ++h) forward(c, in, dense(out.data(), 4, 1, 20), out.data() + 2 * 4 * 20, b, h, workspace.data());
      }
      return out;
    };
    for (const IsaLevel level : levels_here()) {
      const Kernels& kernels = kernels_for(level);
      EXPECT_TRUE(kernels.attention.forward_takes(c, in, 1, 3));
      expect_same(run_all(kernels.attention.forward_tiles, kernels.attention.forward_workspace(c)),
                  run_all(kernels.attention_f32.forward, 128 + 20), "out and lse");
    }
  }
}

/// Ids of segments of these lengths, the same id again in every other one.
std::vector<std::int64_t> segments_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> ids;
  for (std::size_t s = 0; s < lengths.size(); ++s) ids.insert(ids.end(), static_cast<std::size_t>(lengths[s]), s % 2 == 0 ? 7 : -1);
  return ids;
}

TEST(AttentionTiles, Segments) {
  std::vector<std::int64_t> ids = segments_of({1, 130, 60, 3, 106});
  const std::vector<std::int64_t> second = segments_of({300});
  ids.insert(ids.end(), second.begin(), second.end());
  expect_tiles_keep_the_contract({.batch = 2, .q_heads = 4, .kv_heads = 2, .queries = 300, .keys = 300, .width = 24, .value_width = 16,
                                  .scale = 0.3, .causal = true}, ids);
  expect_tiles_keep_the_contract({.batch = 2, .q_heads = 2, .kv_heads = 1, .queries = 300, .keys = 300, .width = 8, .value_width = 8,
                                  .scale = 0.3, .causal = true, .window = 50, .softcap = 0.7, .dropout = 0.2, .seed = 5, .draw_offset = 8},
                                  ids);
  expect_tiles_keep_the_contract({.batch = 2, .queries = 300, .keys = 300, .width = 8, .value_width = 8, .scale = 0.3}, ids);
}

/// Rows [first, first + count) of a tensor [1, T, H, D].
std::vector<float> rows_of(const std::vector<float>& x, std::int64_t tokens, std::int64_t first, std::int64_t count) {
  const auto row = static_cast<std::ptrdiff_t>(x.size()) / tokens;
  return {x.begin() + first * row, x.begin() + (first + count) * row};
}

/// Rows [first, first + count) of every head of a tensor [1, H, T, D].
std::vector<float> head_rows(const std::vector<float>& x, std::int64_t heads, std::int64_t tokens, std::int64_t first, std::int64_t count) {
  std::vector<float> rows;
  const auto head = static_cast<std::ptrdiff_t>(x.size()) / heads;
  for (std::int64_t h = 0; h < heads; ++h) {
    const std::vector<float> part = rows_of({x.begin() + h * head, x.begin() + (h + 1) * head}, tokens, first, count);
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

TEST(AttentionTiles, ASegmentIsWhatItIsAlone) {
  const std::vector<std::int64_t> lengths = {5, 200, 129, 1, 65};
  const std::vector<std::int64_t> ids = segments_of(lengths);
  Config packed{.q_heads = 4, .kv_heads = 2, .queries = 400, .keys = 400, .width = 16, .value_width = 24, .scale = 0.3, .causal = true};
  const Tensors t = tensors_of(packed);
  const IsaLevel level = levels_here().back();
  const Results all = run_tiles(packed, t, level, ids.data());
  std::int64_t first = 0;
  for (const std::int64_t n : lengths) {
    SCOPED_TRACE(first);
    Config alone = packed;
    alone.queries = alone.keys = n;
    const Results own = run_tiles(alone, {rows_of(t.q, 400, first, n), rows_of(t.k, 400, first, n), rows_of(t.v, 400, first, n),
                                          rows_of(t.dout, 400, first, n)}, level);
    expect_same(head_rows(all.out, 4, 400, first, n), own.out, "out");
    expect_same(head_rows(all.lse, 4, 400, first, n), own.lse, "lse");
    expect_same(head_rows(all.dq, 4, 400, first, n), own.dq, "dq");
    expect_same(head_rows(all.dk, 2, 400, first, n), own.dk, "dk");
    expect_same(head_rows(all.dv, 2, 400, first, n), own.dv, "dv");
    first += n;
  }
}

TEST(AttentionTiles, LeaveOtherMasksAndBiasToTheGeneralPath) {
  const AttentionTable& table = kernels_for(levels_here().back()).attention;
  const std::vector<float> data(64);
  attention::Inputs<float> in;
  in.q = in.k = in.v = View<const float>{data.data(), {64, 64, 8, 1}};
  Config c{.queries = 8, .keys = 8, .width = 8, .value_width = 8};
  const auto takes = [&] { return std::pair(table.forward_takes(c, in, 0, 0), table.backward_takes(c, in)); };
  EXPECT_EQ(takes(), std::pair(true, true));
  const std::uint8_t mask[8] = {0, 1, 1, 0, 0, 1, 0, 0};
  in.mask = {mask, {0, 0, 0, 0}};
  EXPECT_EQ(takes(), std::pair(false, false));
  c.queries = 1;
  EXPECT_EQ(takes(), std::pair(true, false));
  in.mask.stride[3] = 1;  // two runs
  EXPECT_EQ(takes(), std::pair(false, false));
  in.mask = {};
  in.bias = in.q;
  EXPECT_EQ(takes(), std::pair(false, false));
}

}  // namespace
}  // namespace reprise::loops
