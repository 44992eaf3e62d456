// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention as the numeric contract defines it, one query row at a time: the reference evaluation, and the compiled
// kernels' path for what their tiles do not cover. E is the element type (float, double, bfloat16), T the type computed in.
//
//   score(i, j)  s = scale * dot(q_i, k_j), dot one fma chain over d ascending from +0; with a soft cap s = cap * tanh(s / cap);
//                then + bias
//   key j is seen by query i when the causal test j <= i + offset, the window test j > i + offset - window, the mask and the segments all
//   allow it; a segment is a run of equal ids: its queries see its keys only
//   forward      key blocks of 128 from key 0 (the segment's first key), those with no seen key skipped. Per block: m' = max(m, block max),
//                a = exp(m - m'), p = exp(s - m') for seen keys, l = l a + sum of p (reduction.h's slots), o = o a, then o = fma(p, v_j, o)
//                over the seen keys ascending. out = o * (1 / l), lse = m + log l. A row that sees nothing gives 0 and lse -inf.
//   dropout      p counts in l as it is; what multiplies v (and takes dp back) is p kept ? p * (1 / (1 - rate)) : 0
//   backward     p = exp(s - lse); delta_i = sum_d dout * out (row rule); dp = dot(dout_i, v_j); ds = p (dp - delta); that is the bias's
//                gradient; with a soft cap ds = ds (1 - t t), t the tanh; then ds * scale. dq: an fma chain over the seen keys ascending;
//                dk and dv: one fma chain over (query head of the group, query) ascending, each from +0.
// Keys not seen take no part in any chain: they are selected away, never multiplied by 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/philox.h"
#include "base/reduction.h"

namespace reprise::attention {

/// Sizes and options. Heads: query head h reads key head h / (q_heads / kv_heads).
struct Config {
  std::int64_t batch = 1, q_heads = 1, kv_heads = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  double scale = 1.0;
  bool causal = false;
  std::int64_t offset = 0;   // position of query 0 among the keys
  std::int64_t window = 0;   // 0: none
  double softcap = 0.0;      // 0: none
  double dropout = 0.0;      // rate; draws: element ((b * q_heads + h) * queries + i) * keys + j of `seed`, offset `draw_offset`
  std::uint64_t seed = 0, draw_offset = 0;
};

/// A four-dimensional view: element strides, in the order batch, head, row, column. A stride of 0 broadcasts.
template <class E>
struct View {
  E* data = nullptr;
  std::int64_t stride[4] = {0, 0, 0, 0};
  REPRISE_INLINE E& at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return data[b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3]];
  }
};

/// Inputs of the forward pass. `bias` is added to the scores (null data: none); `mask` non-zero = may attend (null data: all may);
/// `segments`: ids [batch, keys] of equally many queries and keys at offset 0 (null: one segment).
template <class E>
struct Inputs {
  View<const E> q, k, v, bias;
  View<const std::uint8_t> mask;
  const std::int64_t* segments = nullptr;
};

REPRISE_INLINE float widen(float x) { return x; }
REPRISE_INLINE double widen(double x) { return x; }
REPRISE_INLINE float widen(bfloat16 x) { return to_float(x); }
REPRISE_INLINE void narrow(float& out, float x) { out = x; }
REPRISE_INLINE void narrow(double& out, double x) { out = x; }
REPRISE_INLINE void narrow(bfloat16& out, float x) { out = to_bfloat16(x); }

/// Keys [begin, end).
struct KeyRange {
  std::int64_t begin, end;
};

/// The segment of query i: the run of equal ids around it, or all keys.
template <class E>
REPRISE_INLINE KeyRange segment_around(const Config& config, const Inputs<E>& in, std::int64_t b, std::int64_t i) {
  if (in.segments == nullptr) return {0, config.keys};
  const std::int64_t* const ids = in.segments + b * config.keys;
  KeyRange run{i, i + 1};
  while (run.begin > 0 && ids[run.begin - 1] == ids[i]) --run.begin;
  while (run.end < config.keys && ids[run.end] == ids[i]) ++run.end;
  return run;
}

/// Keys of its segment that the causal and window tests leave to query i.
REPRISE_INLINE KeyRange key_range(const Config& config, KeyRange segment, std::int64_t i) {
  const std::int64_t position = i + config.offset;
  KeyRange range = segment;
  if (config.causal && position + 1 < range.end) range.end = position + 1 < 0 ? 0 : position + 1;
  if (config.window > 0 && position - config.window + 1 > range.begin) range.begin = position - config.window + 1;
  return range;
}

template <class E>
REPRISE_INLINE bool seen(const Inputs<E>& in, KeyRange range, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  return j >= range.begin && j < range.end && (in.mask.data == nullptr || in.mask.at(b, h, i, j) != 0);
}

/// The score of (i, j) and the tanh of its soft cap (0 without one).
template <class T>
struct Score {
  T s, tanh;
};

template <class T, class E>
REPRISE_INLINE Score<T> score(const Config& config, const Inputs<E>& in, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const std::int64_t kv = h / (config.q_heads / config.kv_heads);
  T dot = T(0);
  for (std::int64_t d = 0; d < config.width; ++d) dot = math::fma(widen(in.q.at(b, h, i, d)), widen(in.k.at(b, kv, j, d)), dot);
  T s = dot * static_cast<T>(config.scale);
  T tanh = T(0);
  if (config.softcap > 0.0) {
    tanh = math::tanh(s / static_cast<T>(config.softcap));
    s = static_cast<T>(config.softcap) * tanh;
  }
  if (in.bias.data != nullptr) s = s + widen(in.bias.at(b, h, i, j));
  return {s, tanh};
}

/// Factor of probability (i, j) under dropout: 1 / (1 - rate), or 0; 1 without dropout.
template <class T>
REPRISE_INLINE T keep_factor(const Config& config, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  if (config.dropout <= 0.0) return T(1);
  const auto element = static_cast<std::uint64_t>(((b * config.q_heads + h) * config.queries + i) * config.keys + j);
  const bool kept = !bernoulli(philox_word(config.seed, config.draw_offset + element), static_cast<float>(config.dropout));
  return kept ? T(1) / (T(1) - static_cast<T>(config.dropout)) : T(0);
}

/// Computes row (b, h, i). workspace: 128 + value_width elements.
template <class T, class E>
REPRISE_INLINE void forward_row(const Config& config, const Inputs<E>& in, const View<E>& out, T* lse, std::int64_t b, std::int64_t h,
                                std::int64_t i, T* workspace) {
  const T infinity = static_cast<T>(math::kInfinity);
  const std::int64_t kv = h / (config.q_heads / config.kv_heads);
  const KeyRange segment = segment_around(config, in, b, i);
  const KeyRange range = key_range(config, segment, i);
  const auto block_size = static_cast<std::int64_t>(reduction::kKeyBlock);
  T* p = workspace;
  T* o = workspace + block_size;
  for (std::int64_t d = 0; d < config.value_width; ++d) o[d] = T(0);
  T m = -infinity;
  T l = T(0);
  for (std::int64_t first = segment.begin; first < segment.end; first += block_size) {
    const std::int64_t n = segment.end - first < block_size ? segment.end - first : block_size;
    bool any = false;
    for (std::int64_t j = 0; j < n; ++j) {
      const bool is_seen = seen(in, range, b, h, i, first + j);
      p[j] = is_seen ? score<T>(config, in, b, h, i, first + j).s : -infinity;
      any = any || is_seen;
    }
    if (!any) continue;
    const auto size = static_cast<std::size_t>(n);
    const T larger = math::maximum(m, reduction::reduce_block<reduction::Max<T>, T>(0, size, [&](std::size_t j) { return p[j]; }));
    const T rescale = m == larger ? T(1) : math::exp(m - larger);
    const T shift = larger == -infinity ? T(0) : larger;
    for (std::int64_t j = 0; j < n; ++j) p[j] = seen(in, range, b, h, i, first + j) ? math::exp(p[j] - shift) : T(0);
    l = l * rescale + reduction::reduce_block<reduction::Add<T>, T>(0, size, [&](std::size_t j) { return p[j]; });
    for (std::int64_t d = 0; d < config.value_width; ++d) o[d] = o[d] * rescale;
    for (std::int64_t j = 0; j < n; ++j) {
      if (!seen(in, range, b, h, i, first + j)) continue;
      const T weight = p[j] * keep_factor<T>(config, b, h, i, first + j);
      for (std::int64_t d = 0; d < config.value_width; ++d) o[d] = math::fma(weight, widen(in.v.at(b, kv, first + j, d)), o[d]);
    }
    m = larger;
  }
  const T inverse = l == T(0) ? T(0) : T(1) / l;
  for (std::int64_t d = 0; d < config.value_width; ++d) narrow(out.at(b, h, i, d), o[d] * inverse);
  lse[(b * config.q_heads + h) * config.queries + i] = l == T(0) ? -infinity : m + math::log(l);
}

/// What the backward pass writes. Null data skips `dbias`, the gradient of the bias before any broadcast is undone:
/// [batch, q_heads, queries, keys].
template <class E>
struct Gradients {
  View<E> dq, dk, dv, dbias;
};

/// Computes the gradients of key head `kv` of batch entry b, its query heads included. lse: [batch, q_heads, queries].
/// workspace: keys * (width + value_width) + width elements.
template <class T, class E>
REPRISE_INLINE void backward_head(const Config& config, const Inputs<E>& in, const View<const E>& out, const View<const E>& dout,
                                  const T* lse, const Gradients<E>& grads, std::int64_t b, std::int64_t kv, T* workspace) {
  const std::int64_t group = config.q_heads / config.kv_heads;
  T* dk = workspace;
  T* dv = dk + config.keys * config.width;
  T* dq = dv + config.keys * config.value_width;
  for (std::int64_t e = 0; e < config.keys * (config.width + config.value_width); ++e) dk[e] = T(0);
  for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
    for (std::int64_t i = 0; i < config.queries; ++i) {
      const T row_lse = lse[(b * config.q_heads + h) * config.queries + i];
      const bool dead = row_lse == static_cast<T>(-math::kInfinity);
      const KeyRange range = key_range(config, segment_around(config, in, b, i), i);
      const T delta = reduction::sum_row<T>(static_cast<std::size_t>(config.value_width), [&](std::size_t e) {
        const auto d = static_cast<std::int64_t>(e);
        return widen(dout.at(b, h, i, d)) * widen(out.at(b, h, i, d));
      });
      for (std::int64_t d = 0; d < config.width; ++d) dq[d] = T(0);
      for (std::int64_t j = 0; j < config.keys; ++j) {
        const bool takes_part = !dead && seen(in, range, b, h, i, j);
        T ds = T(0);
        if (takes_part) {
          const Score<T> scored = score<T>(config, in, b, h, i, j);
          const T p = math::exp(scored.s - row_lse);
          const T keep = keep_factor<T>(config, b, h, i, j);
          T dp = T(0);
          for (std::int64_t d = 0; d < config.value_width; ++d) {
            dp = math::fma(widen(dout.at(b, h, i, d)), widen(in.v.at(b, kv, j, d)), dp);
          }
          ds = p * (dp * keep - delta);
          for (std::int64_t d = 0; d < config.value_width; ++d) {
            T& element = dv[j * config.value_width + d];
            element = math::fma(p * keep, widen(dout.at(b, h, i, d)), element);
          }
          const T slope = config.softcap > 0.0 ? ds * (T(1) - scored.tanh * scored.tanh) : ds;
          const T scaled = slope * static_cast<T>(config.scale);
          for (std::int64_t d = 0; d < config.width; ++d) {
            T& element = dk[j * config.width + d];
            element = math::fma(scaled, widen(in.q.at(b, h, i, d)), element);
            dq[d] = math::fma(scaled, widen(in.k.at(b, kv, j, d)), dq[d]);
          }
        }
        if (grads.dbias.data != nullptr) narrow(grads.dbias.at(b, h, i, j), ds);
      }
      for (std::int64_t d = 0; d < config.width; ++d) narrow(grads.dq.at(b, h, i, d), dq[d]);
    }
  }
  for (std::int64_t j = 0; j < config.keys; ++j) {
    for (std::int64_t d = 0; d < config.width; ++d) narrow(grads.dk.at(b, kv, j, d), dk[j * config.width + d]);
    for (std::int64_t d = 0; d < config.value_width; ++d) narrow(grads.dv.at(b, kv, j, d), dv[j * config.value_width + d]);
  }
}

}  // namespace reprise::attention
