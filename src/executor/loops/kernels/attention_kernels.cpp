// SPDX-License-Identifier: Apache-2.0
// Attention in tiles of 64 queries by 128 keys: the bits of base/attention_formula.h (online softmax: Milakov and Gimelshein, 2018;
// recomputing the probabilities backward from the saved log-sum-exp: Dao et al., 2022). K (and V backward) is transposed once per head, so
// that scores are vectors over keys.
#include "executor/loops/kernels/chain_tile.h"
#include "executor/loops/kernels/draw_words.h"
#include "executor/loops/kernels/fill_tables.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

inline constexpr std::int64_t kQueries = 64;  // of a tile; changes no bits
inline constexpr std::int64_t kKeys = static_cast<std::int64_t>(reduction::kKeyBlock);
inline constexpr std::int64_t kStride =
    kKeys + 16;  // of rows of 128: nine cache lines, so that a column of them does not fall into one set

/// Query rows [first, first + rows) of a tile, and what they see of key block [key, key + keys), relative to `key`.
struct Seen {
  std::int64_t begin[kQueries], end[kQueries];
  bool any = false;
  std::int64_t columns = 0;  // keys from the first on that scores are needed of
};

REPRISE_INLINE std::int64_t clip(std::int64_t x, std::int64_t high) { return x < 0 ? 0 : x > high ? high : x; }

/// Queries and keys that belong together: all of them, or those of a segment. Key blocks count from the first of `keys`; those outside
/// `seen` are seen by nobody.
struct Part {
  std::int64_t query, end_query;
  attention::KeyRange keys, seen;
};

Seen seen_by_queries(const attention::Config& config, attention::KeyRange keys_seen, std::int64_t first, std::int64_t rows,
                     std::int64_t key, std::int64_t keys) {
  Seen seen;
  for (std::int64_t r = 0; r < rows; ++r) {
    const attention::KeyRange range = attention::key_range(config, keys_seen, first + r);
    seen.begin[r] = clip(range.begin - key, keys);
    seen.end[r] = clip(range.end - key, keys);
    if (seen.begin[r] >= seen.end[r]) continue;
    seen.any = true;
    if (seen.end[r] > seen.columns) seen.columns = seen.end[r];
  }
  constexpr std::int64_t kWhole = kChainVectors * Vector<float>::kLanes;  // the tile's columns: a part of one costs as much
  seen.columns = clip((seen.columns + kWhole - 1) / kWhole * kWhole, keys);
  return seen;
}

/// The queries of [first, first + rows) that see each key of [key, key + keys), relative to `first`.
struct SeenBy {
  std::int64_t begin[kKeys], end[kKeys];
};

SeenBy seen_of_keys(const attention::Config& config, std::int64_t first, std::int64_t rows, std::int64_t key, std::int64_t keys) {
  SeenBy seen;
  for (std::int64_t j = 0; j < keys; ++j) {
    // causal: key <= i + offset; window: key > i + offset - window
    const std::int64_t from = config.causal ? key + j - config.offset : 0;
    const std::int64_t to = config.window > 0 ? key + j - config.offset + config.window : config.queries;
    seen.begin[j] = clip(from - first, rows);
    seen.end[j] = clip(to - first, rows);
  }
  return seen;
}

/// The transpose of rows x columns, a key block after the other: element (r, c) goes to block r / 128, row c, place r mod 128.
void transpose(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* to) {
  constexpr std::int64_t kStrip = 16;
  for (std::int64_t r0 = 0; r0 < rows; r0 += kStrip) {
    const std::int64_t r1 = r0 + kStrip < rows ? r0 + kStrip : rows;
    float* const block = to + r0 / kKeys * kStride * columns + r0 % kKeys;
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = r0; r < r1; ++r) block[c * kStride + (r - r0)] = from[r * stride + c];
    }
  }
}

/// Elements per column of a transpose of `keys` rows, and where the block of `key` begins.
std::int64_t whole_blocks(std::int64_t keys) { return (keys + kKeys - 1) / kKeys * kStride; }
std::int64_t block_of(std::int64_t key) { return key / kKeys * kStride; }

std::size_t forward_workspace(const attention::Config& config) {
  return static_cast<std::size_t>(whole_blocks(config.keys) * config.width + kQueries * (kStride + config.value_width));
}

std::size_t backward_workspace(const attention::Config& config) {
  const std::int64_t widths = config.width + config.value_width;
  return static_cast<std::size_t>((whole_blocks(config.keys) + config.keys) * widths + kQueries * (2 * kStride + config.width));
}

bool dense_without_bias(const attention::Config& config, const attention::Inputs<float>& inputs) {
  const auto dense_rows = [](const attention::View<const float>& view, std::int64_t width) { return width == 1 || view.stride[3] == 1; };
  return inputs.bias.data == nullptr && dense_rows(inputs.q, config.width) && dense_rows(inputs.k, config.width) &&
         dense_rows(inputs.v, config.value_width);
}

bool backward_takes(const attention::Config& config, const attention::Inputs<float>& inputs) {
  return inputs.mask.data == nullptr && dense_without_bias(config, inputs);
}

/// The keys that the mask leaves to query 0 when they are one run: `run`, and true.
bool mask_run(const attention::Config& config, const attention::Inputs<float>& in, std::int64_t batch, std::int64_t head,
              attention::KeyRange& run) {
  const auto allowed = [&](std::int64_t j) { return in.mask.at(batch, head, 0, j) != 0; };
  std::int64_t j = 0;
  while (j < config.keys && !allowed(j)) ++j;
  run.begin = j;
  while (j < config.keys && allowed(j)) ++j;
  run.end = j;
  while (j < config.keys && !allowed(j)) ++j;
  return j == config.keys;
}

bool forward_takes(const attention::Config& config, const attention::Inputs<float>& inputs, std::int64_t batch, std::int64_t head) {
  attention::KeyRange run;
  return dense_without_bias(config, inputs) &&
         (inputs.mask.data == nullptr || (config.queries == 1 && mask_run(config, inputs, batch, head, run)));
}

/// Dropout's factors of keys [begin, end) of a row: 1 / (1 - rate) or 0. `first` is the word of key 0 of the block.
REPRISE_INLINE void draw_keep(const attention::Config& config, std::uint64_t first, std::int64_t begin, std::int64_t end, float* keep) {
  const auto rate = static_cast<float>(config.dropout);
  const float kept = 1.0f / (1.0f - rate);
  for_each_draw(config.seed, first, static_cast<std::size_t>(begin), static_cast<std::size_t>(end),
                [=](std::size_t j, std::uint32_t word) { keep[j] = bernoulli(word, rate) ? 0.0f : kept; });
}

/// Word of key `key` for a query.
REPRISE_INLINE std::uint64_t draw_of(const attention::Config& config, std::int64_t batch, std::int64_t head, std::int64_t query,
                                     std::int64_t key) {
  const std::int64_t element = ((batch * config.q_heads + head) * config.queries + query) * config.keys + key;
  return config.draw_offset + static_cast<std::uint64_t>(element);
}

/// s = cap * tanh(s / cap), the tanh kept in t.
REPRISE_INLINE void cap_scores(float* s, float* t, std::int64_t begin, std::int64_t end, float cap) {
#pragma GCC ivdep
  for (std::int64_t j = begin; j < end; ++j) {
    t[j] = math::tanh(s[j] / cap);
    s[j] = cap * t[j];
  }
}

/// The running maximum and sum of a query.
struct RunningRow {
  float m, l;
};

/// Turns a row of products into probabilities of the new running maximum; keys outside [begin, end) become 0.
/// Returns what O is rescaled by.
REPRISE_INLINE float softmax_block(const attention::Config& config, float* s, std::int64_t keys, std::int64_t begin, std::int64_t end,
                                   RunningRow& row) {
  const auto scale = static_cast<float>(config.scale);
  for (std::int64_t j = 0; j < begin; ++j) s[j] = -math::kInfinity;
  for (std::int64_t j = begin; j < end; ++j) s[j] = s[j] * scale;
  for (std::int64_t j = end; j < keys; ++j) s[j] = -math::kInfinity;
  if (config.softcap > 0.0) {
    float t[kKeys];
    cap_scores(s, t, begin, end, static_cast<float>(config.softcap));
  }
  const auto size = static_cast<std::size_t>(keys);
  const auto load = [s](std::size_t j) { return s[j]; };
  const float larger = math::maximum(row.m, reduction::reduce_block<reduction::Max<float>, float>(0, size, load));
  const float rescale = row.m == larger ? 1.0f : math::exp(row.m - larger);
  const float shift = larger == -math::kInfinity ? 0.0f : larger;
  for (std::int64_t j = 0; j < begin; ++j) s[j] = 0.0f;
#pragma GCC ivdep
  for (std::int64_t j = begin; j < end; ++j) s[j] = math::exp(s[j] - shift);
  for (std::int64_t j = end; j < keys; ++j) s[j] = 0.0f;
  row.l = row.l * rescale + reduction::reduce_block<reduction::Add<float>, float>(0, size, load);
  row.m = larger;
  return rescale;
}

REPRISE_INLINE void forward_part(const attention::Config& config, const attention::Inputs<float>& in, const attention::View<float>& out,
                                 float* lse, std::int64_t batch, std::int64_t head, const Part& part, float* workspace) {
  const std::int64_t kv = head / (config.q_heads / config.kv_heads);
  const std::int64_t width = config.value_width;
  float* const keys_t = workspace;
  float* const s = keys_t + whole_blocks(config.keys) * config.width;
  float* const o = s + kQueries * kStride;
  const auto [first_key, end_key] = part.keys;
  transpose(&in.k.at(batch, kv, first_key, 0), in.k.stride[2], part.seen.end - first_key, config.width, keys_t);
  for (std::int64_t first = part.query; first < part.end_query; first += kQueries) {
    const std::int64_t rows = part.end_query - first < kQueries ? part.end_query - first : kQueries;
    RunningRow running[kQueries];
    for (std::int64_t r = 0; r < rows; ++r) running[r] = {-math::kInfinity, 0.0f};
    for (std::int64_t e = 0; e < rows * width; ++e) o[e] = 0.0f;
    for (std::int64_t key = first_key; key < end_key; key += kKeys) {
      const std::int64_t keys = end_key - key < kKeys ? end_key - key : kKeys;
      const Seen seen = seen_by_queries(config, part.seen, first, rows, key, keys);
      if (!seen.any) continue;
      multiply_chains({&in.q.at(batch, head, first, 0), in.q.stride[2], 1}, {keys_t + block_of(key - first_key) * config.width, kStride},
                      config.width, s, kStride, rows, seen.columns);
      for (std::int64_t r = 0; r < rows; ++r) {
        if (seen.begin[r] >= seen.end[r]) continue;
        float* const row = s + r * kStride;
        const float rescale = softmax_block(config, row, keys, seen.begin[r], seen.end[r], running[r]);
        if (config.dropout > 0.0) {
          float keep[kKeys];
          draw_keep(config, draw_of(config, batch, head, first + r, key), seen.begin[r], seen.end[r], keep);
          for (std::int64_t j = seen.begin[r]; j < seen.end[r]; ++j) row[j] = row[j] * keep[j];
        }
        if (rescale == 1.0f) continue;
        for (std::int64_t d = 0; d < width; ++d) o[r * width + d] = o[r * width + d] * rescale;
      }
      continue_chains({s, kStride, 1}, {&in.v.at(batch, kv, key, 0), in.v.stride[2]}, seen.begin, seen.end, o, width, rows, width);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float l = running[r].l;
      const float inverse = l == 0.0f ? 0.0f : 1.0f / l;
      for (std::int64_t d = 0; d < width; ++d) out.at(batch, head, first + r, d) = o[r * width + d] * inverse;
      lse[(batch * config.q_heads + head) * config.queries + first + r] = l == 0.0f ? -math::kInfinity : running[r].m + math::log(l);
    }
  }
}

template <class Action>
REPRISE_INLINE void for_each_segment(const attention::Config& config, const attention::Inputs<float>& in, std::int64_t batch,
                                     const Action& action) {
  const attention::KeyRange all{0, config.keys};
  if (in.segments == nullptr) return action(Part{0, config.queries, all, all});
  for (std::int64_t begin = 0; begin < config.keys;) {
    const attention::KeyRange run = attention::segment_around(config, in, batch, begin);
    action(Part{run.begin, run.end, run, run});
    begin = run.end;
  }
}

void forward_tiles(const attention::Config& config, const attention::Inputs<float>& in, const attention::View<float>& out, float* lse,
                   std::int64_t batch, std::int64_t head, float* workspace) {
  if (in.mask.data != nullptr) {  // of one query: its blocks count from key 0 all the same
    attention::KeyRange masked{};
    mask_run(config, in, batch, head, masked);
    const attention::KeyRange keys{masked.begin / kKeys * kKeys, config.keys};
    return forward_part(config, in, out, lse, batch, head, Part{0, 1, keys, masked}, workspace);
  }
  for_each_segment(config, in, batch, [&](const Part& part) { forward_part(config, in, out, lse, batch, head, part, workspace); });
}

/// Turns a row of products q k and one of dout v into what multiplies dout (P, after dropout) and q and k (dS, scaled), over keys [begin,
/// end); the others become 0.
REPRISE_INLINE void probabilities_backward(const attention::Config& config, float* p, float* ds, std::int64_t keys, std::int64_t begin,
                                           std::int64_t end, float lse, float delta, std::uint64_t draw) {
  const auto scale = static_cast<float>(config.scale);
  const bool dead = lse == -math::kInfinity;
  const std::int64_t from = dead ? keys : begin;
  const std::int64_t to = dead ? keys : end;
  for (std::int64_t j = 0; j < from; ++j) p[j] = ds[j] = 0.0f;
  for (std::int64_t j = to; j < keys; ++j) p[j] = ds[j] = 0.0f;
  if (config.softcap <= 0.0 && config.dropout <= 0.0) {
#pragma GCC ivdep
    for (std::int64_t j = from; j < to; ++j) {
      p[j] = math::exp(p[j] * scale - lse);
      ds[j] = p[j] * (ds[j] - delta) * scale;
    }
    return;
  }
  float t[kKeys];
  float keep[kKeys];
  for (std::int64_t j = from; j < to; ++j) {
    p[j] = p[j] * scale;
    t[j] = 0.0f;
    keep[j] = 1.0f;
  }
  if (config.softcap > 0.0) cap_scores(p, t, from, to, static_cast<float>(config.softcap));
  if (config.dropout > 0.0) draw_keep(config, draw, from, to, keep);
#pragma GCC ivdep
  for (std::int64_t j = from; j < to; ++j) {
    const float probability = math::exp(p[j] - lse);
    const float slope = probability * (ds[j] * keep[j] - delta) * (1.0f - t[j] * t[j]);
    p[j] = probability * keep[j];
    ds[j] = slope * scale;
  }
}

/// What a key head's backward pass works in.
struct BackwardSpace {
  float *keys_t, *values_t;  // transposes of a part's keys and values
  float *dk, *dv;            // [keys][width], [keys][value_width]
  float *p, *ds, *dq;        // of a tile
};

REPRISE_INLINE void backward_part(const attention::Config& config, const attention::Inputs<float>& in,
                                  const attention::View<const float>& out, const attention::View<const float>& dout, const float* lse,
                                  const attention::Gradients<float>& grads, std::int64_t batch, std::int64_t kv, const Part& part,
                                  const BackwardSpace& space) {
  const std::int64_t group = config.q_heads / config.kv_heads;
  const std::int64_t width = config.width;
  const std::int64_t value_width = config.value_width;
  const auto [keys_t, values_t, dk, dv, p, ds, dq] = space;
  const auto [first_key, end_key] = part.keys;
  transpose(&in.k.at(batch, kv, first_key, 0), in.k.stride[2], end_key - first_key, width, keys_t);
  transpose(&in.v.at(batch, kv, first_key, 0), in.v.stride[2], end_key - first_key, value_width, values_t);
  for (std::int64_t head = kv * group; head < (kv + 1) * group; ++head) {
    for (std::int64_t first = part.query; first < part.end_query; first += kQueries) {
      const std::int64_t rows = part.end_query - first < kQueries ? part.end_query - first : kQueries;
      float delta[kQueries];
      for (std::int64_t r = 0; r < rows; ++r) {
        const float* const o = &out.at(batch, head, first + r, 0);
        const float* const go = &dout.at(batch, head, first + r, 0);
        delta[r] = reduction::sum_row<float>(static_cast<std::size_t>(value_width), [o, go](std::size_t d) { return go[d] * o[d]; });
      }
      for (std::int64_t e = 0; e < rows * width; ++e) dq[e] = 0.0f;
      const float* const q = &in.q.at(batch, head, first, 0);
      const float* const go = &dout.at(batch, head, first, 0);
      for (std::int64_t key = first_key; key < end_key; key += kKeys) {
        const std::int64_t keys = end_key - key < kKeys ? end_key - key : kKeys;
        const Seen seen = seen_by_queries(config, part.seen, first, rows, key, keys);
        if (!seen.any) continue;
        const std::int64_t block = block_of(key - first_key);
        multiply_chains({q, in.q.stride[2], 1}, {keys_t + block * width, kStride}, width, p, kStride, rows, seen.columns);
        multiply_chains({go, dout.stride[2], 1}, {values_t + block * value_width, kStride}, value_width, ds, kStride, rows, seen.columns);
        const float* const row_lse = lse + (batch * config.q_heads + head) * config.queries + first;
        for (std::int64_t r = 0; r < rows; ++r) {
          probabilities_backward(config, p + r * kStride, ds + r * kStride, keys, seen.begin[r], seen.end[r], row_lse[r], delta[r],
                                 draw_of(config, batch, head, first + r, key));
        }
        const SeenBy by = seen_of_keys(config, first, rows, key, keys);
        continue_chains({p, 1, kStride}, {go, dout.stride[2]}, by.begin, by.end, dv + key * value_width, value_width, keys, value_width);
        continue_chains({ds, 1, kStride}, {q, in.q.stride[2]}, by.begin, by.end, dk + key * width, width, keys, width);
        continue_chains({ds, kStride, 1}, {&in.k.at(batch, kv, key, 0), in.k.stride[2]}, seen.begin, seen.end, dq, width, rows, width);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t d = 0; d < width; ++d) grads.dq.at(batch, head, first + r, d) = dq[r * width + d];
      }
    }
  }
}

void backward_tiles(const attention::Config& config, const attention::Inputs<float>& in, const attention::View<const float>& out,
                    const attention::View<const float>& dout, const float* lse, const attention::Gradients<float>& grads,
                    std::int64_t batch, std::int64_t kv, float* workspace) {
  const std::int64_t width = config.width;
  const std::int64_t value_width = config.value_width;
  BackwardSpace space{};
  space.keys_t = workspace;
  space.values_t = space.keys_t + whole_blocks(config.keys) * width;
  space.dk = space.values_t + whole_blocks(config.keys) * value_width;
  space.dv = space.dk + config.keys * width;
  space.p = space.dv + config.keys * value_width;
  space.ds = space.p + kQueries * kStride;
  space.dq = space.ds + kQueries * kStride;
  for (std::int64_t e = 0; e < config.keys * (width + value_width); ++e) space.dk[e] = 0.0f;
  for_each_segment(config, in, batch, [&](const Part& part) { backward_part(config, in, out, dout, lse, grads, batch, kv, part, space); });
  for (std::int64_t j = 0; j < config.keys; ++j) {
    for (std::int64_t d = 0; d < width; ++d) grads.dk.at(batch, kv, j, d) = space.dk[j * width + d];
    for (std::int64_t d = 0; d < value_width; ++d) grads.dv.at(batch, kv, j, d) = space.dv[j * value_width + d];
  }
}

}  // namespace

void fill_attention(Kernels& kernels) {
  kernels.attention = {forward_workspace, backward_workspace, forward_takes, backward_takes, forward_tiles, backward_tiles};
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
