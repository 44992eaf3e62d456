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
Results run(const Config& c, const Tensors& t, std::size_t workspace_elements, const Forward& forward, const Backward& backward) {
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

void expect_tiles_keep_the_contract(const Config& c) {
  const Tensors t{numbers(c.batch * c.q_heads * c.queries * c.width, 1), numbers(c.batch * c.kv_heads * c.keys * c.width, 2),
                  numbers(c.batch * c.kv_heads * c.keys * c.value_width, 3), numbers(c.batch * c.q_heads * c.queries * c.value_width, 4)};
  const Kernels& best = kernels_for(levels_here().back());
  const Results expected =
      run(c, t, static_cast<std::size_t>(c.keys * (c.width + c.value_width) + c.width + 128 + c.value_width), best.attention_f32.forward,
          best.attention_f32.backward);
  for (const IsaLevel level : levels_here()) {
    const AttentionTable& table = kernels_for(level).attention;
    const Results result = run(c, t, std::max(table.forward_workspace(c), table.backward_workspace(c)), table.forward_tiles, table.backward_tiles);
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
  expect_tiles_keep_the_contract({.batch = 2, .q_heads = 2, .kv_heads = 1, .queries = 70, .keys = 150, .width = 16, .value_width = 16, .scale = 0.5,
                                  .softcap = 0.7});
  expect_tiles_keep_the_contract({.batch = 2, .q_heads = 2, .kv_heads = 1, .queries = 150, .keys = 150, .width = 16, .value_width = 16, .scale = 0.5,
                                  .causal = true, .softcap = 0.7, .dropout = 0.3, .seed = 5, .draw_offset = 8});
}

TEST(AttentionTiles, LeaveMasksAndBiasToTheGeneralPath) {
  const AttentionTable& table = kernels_for(levels_here().back()).attention;
  const std::vector<float> data(64);
  attention::Inputs<float> in;
  in.q = in.k = in.v = View<const float>{data.data(), {64, 64, 8, 1}};
  const Config c{.queries = 8, .keys = 8, .width = 8, .value_width = 8};
  EXPECT_TRUE(table.tiles_take(c, in));
  const std::uint8_t mask = 1;
  in.mask = {&mask, {0, 0, 0, 0}};
  EXPECT_FALSE(table.tiles_take(c, in));
  in.mask = {};
  in.bias = in.q;
  EXPECT_FALSE(table.tiles_take(c, in));
}

}  // namespace
}  // namespace reprise::loops
