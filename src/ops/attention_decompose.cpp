// SPDX-License-Identifier: Apache-2.0
// Attention in simpler ops: products, a softmax written out so that a row that sees nothing gives 0, and selects for masks.
#include <limits>

#include "ops/attention_parts.h"
#include "ops/builders.h"
#include "ops/type_check.h"

namespace reprise {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Everything between the inputs and the probabilities, in the type that scores are computed in.
struct Scores {
  ValueId q, k, v;  // with a group dimension: q [B, Hkv, G, Tq, D], k and v [B, Hkv, 1, Tk, ...]
  ValueId capped;   // tanh of the soft cap, or invalid; [B, Hq, Tq, Tk] as all below
  ValueId scores;   // -inf where not seen
  Shape grouped;    // [B, Hkv, G, Tq, Tk]
  Shape flat;       // [B, Hq, Tq, Tk]
};

/// Pairs that causal and window tests allow: bool [Tq, Tk], or invalid when they allow all.
ValueId allowed_pairs(Builder& b, const AttentionAttrs& attrs, std::int64_t queries, std::int64_t keys) {
  if (!attrs.causal && attrs.window == 0) return ValueId();
  const ValueId position = ops::unsqueeze(b, ops::iota(b, queries, DType::int64, attrs.offset), {1});
  const ValueId key = ops::unsqueeze(b, ops::iota(b, keys), {0});
  ValueId allowed;
  if (attrs.causal) allowed = ops::binary(b, op::le, key, position);
  if (attrs.window > 0) {
    const ValueId near = ops::binary(b, op::gt, key, ops::add_scalar(b, position, -static_cast<double>(attrs.window)));
    allowed = allowed.valid() ? ops::binary(b, op::logical_and, allowed, near) : near;
  }
  return allowed;
}

/// Pairs within one run of equal ids: bool [B, 1, T, T]. The runs are numbered by counting where the id changes.
ValueId same_segment(Builder& b, ValueId ids) {
  const std::int64_t batch = b.shape(ids)[0];
  const std::int64_t tokens = b.shape(ids)[1];
  const ValueId changes = ops::binary(b, op::ne, ops::slice(b, ids, 1, 1, tokens), ops::slice(b, ids, 1, 0, tokens - 1));
  const ValueId first = ops::full(b, Shape{batch, 1}, DType::int64, 0);
  const ValueId run = ops::cumsum(b, ops::cat(b, {first, ops::cast(b, changes, DType::int64)}, 1), 1);
  return ops::unsqueeze(b, ops::binary(b, op::eq, ops::unsqueeze(b, run, {2}), ops::unsqueeze(b, run, {1})), {1});
}

Scores emit_scores(Builder& b, const Node& node, std::span<const ValueId> inputs, const AttentionPlaces& places) {
  const auto attrs = node.as<AttentionAttrs>();
  const Shape q = b.shape(inputs[0]);
  const Shape k = b.shape(inputs[1]);
  const DType wide = statistic_dtype(b.dtype(inputs[0]));
  Scores result;
  result.flat = Shape{q[0], q[1], q[2], k[2]};
  result.grouped = Shape{q[0], k[1], q[1] / k[1], q[2], k[2]};
  result.q = ops::reshape(b, ops::cast(b, inputs[0], wide), Shape{q[0], k[1], q[1] / k[1], q[2], q[3]});
  result.k = ops::unsqueeze(b, ops::cast(b, inputs[1], wide), {2});
  result.v = ops::unsqueeze(b, ops::cast(b, inputs[2], wide), {2});
  ValueId s = ops::reshape(b, ops::matmul(b, result.q, result.k, false, true), result.flat);
  s = ops::mul_scalar(b, s, attrs.scale);
  if (attrs.softcap > 0) {
    result.capped = ops::tanh(b, ops::div_scalar(b, s, attrs.softcap));
    s = ops::mul_scalar(b, result.capped, attrs.softcap);
  }
  if (places.bias) s = ops::add(b, s, ops::cast(b, inputs[*places.bias], wide));
  ValueId allowed = allowed_pairs(b, attrs, q[2], k[2]);
  if (places.mask) allowed = allowed.valid() ? ops::binary(b, op::logical_and, allowed, inputs[*places.mask]) : inputs[*places.mask];
  if (places.segments) {
    const ValueId together = same_segment(b, inputs[*places.segments]);
    allowed = allowed.valid() ? ops::binary(b, op::logical_and, allowed, together) : together;
  }
  if (allowed.valid()) s = ops::masked_fill(b, ops::unary(b, op::logical_not, allowed), s, kMinusInfinity);
  result.scores = s;
  return result;
}

/// exp(scores - lse), 0 in rows that see nothing.
ValueId probabilities(Builder& b, ValueId scores, ValueId lse) {
  const ValueId dead = ops::binary(b, op::eq, lse, ops::full(b, b.shape(lse), b.dtype(lse), kMinusInfinity));
  const ValueId p = ops::exp(b, ops::sub(b, scores, ops::unsqueeze(b, lse, {3})));
  return ops::masked_fill(b, ops::unsqueeze(b, dead, {3}), p, 0);
}

/// Cotangents that reach q, k and the bias from the cotangent of the scores.
struct ScoreGradients {
  ValueId q, k, bias;
};

ScoreGradients through_scores(Builder& b, const Node& node, std::span<const ValueId> inputs, const AttentionPlaces& places, const Scores& s,
                              ValueId gs) {
  const auto attrs = node.as<AttentionAttrs>();
  const DType dtype = b.dtype(inputs[0]);
  ValueId scaled = gs;
  if (attrs.softcap > 0) scaled = ops::mul(b, gs, ops::add_scalar(b, ops::neg(b, ops::square(b, s.capped)), 1));
  scaled = ops::reshape(b, ops::mul_scalar(b, scaled, attrs.scale), s.grouped);
  const ValueId gq = ops::reshape(b, ops::matmul(b, scaled, s.k), b.shape(inputs[0]));
  const ValueId gk = ops::sum(b, ops::matmul(b, scaled, s.q, true, false), Ints{2});
  const ValueId gbias = places.bias ? ops::cast(b, ops::sum_to(b, gs, b.shape(inputs[*places.bias])), dtype) : ValueId();
  return {ops::cast(b, gq, dtype), ops::cast(b, gk, dtype), gbias};
}

ValueId dropped(Builder& b, const Node& node, std::span<const ValueId> inputs, const AttentionPlaces& places, ValueId x) {
  const auto attrs = node.as<AttentionAttrs>();
  if (!places.seed) return x;
  return ops::philox_dropout(b, x, inputs[*places.seed], inputs[*places.offset], attrs.dropout, attrs.draw);
}

/// Without seed inputs the draw is the generator's, which only the forward pass may advance.
ValueId dropped_forward(Builder& b, const Node& node, std::span<const ValueId> inputs, const AttentionPlaces& places, ValueId x) {
  const double p = node.as<AttentionAttrs>().dropout;
  return p > 0 && !places.seed ? ops::dropout(b, x, p) : dropped(b, node, inputs, places, x);
}

/// [B, H, T, D] of [B, T, H, D], and the other way round.
ValueId swap_heads_and_tokens(Builder& b, ValueId x) { return ops::permute(b, x, {0, 2, 1, 3}); }

}  // namespace

std::vector<ValueId> decompose_attention(Builder& b, const Node& node, std::span<const ValueId> inputs) {
  const AttentionPlaces places = attention_places(node, inputs.size(), 3);
  const Scores s = emit_scores(b, node, inputs, places);
  const ValueId lse = ops::logsumexp(b, s.scores, -1);
  const ValueId p = dropped_forward(b, node, inputs, places, probabilities(b, s.scores, lse));
  const ValueId out = ops::matmul(b, ops::reshape(b, p, s.grouped), s.v);
  Shape by_head = without_last(b.shape(inputs[0]));
  by_head.append(b.shape(inputs[2]).dim(3));
  return {swap_heads_and_tokens(b, ops::cast(b, ops::reshape(b, out, by_head), b.dtype(inputs[0]))), lse};
}

std::vector<ValueId> decompose_attention_backward(Builder& b, const Node& node, std::span<const ValueId> inputs) {
  const AttentionPlaces places = attention_places(node, inputs.size(), 6);
  const Scores s = emit_scores(b, node, inputs, places);
  const DType dtype = b.dtype(inputs[0]);
  const DType wide = statistic_dtype(dtype);
  const ValueId out = swap_heads_and_tokens(b, ops::cast(b, inputs[3], wide));
  const ValueId gout = swap_heads_and_tokens(b, ops::cast(b, inputs[5], wide));
  const ValueId p = probabilities(b, s.scores, inputs[4]);
  Shape out_grouped = without_last(s.grouped);
  out_grouped.append(b.shape(inputs[2]).dim(3));
  const ValueId gout_grouped = ops::reshape(b, gout, out_grouped);
  const ValueId p_dropped = ops::reshape(b, dropped(b, node, inputs, places, p), s.grouped);
  const ValueId gv = ops::cast(b, ops::sum(b, ops::matmul(b, p_dropped, gout_grouped, true, false), Ints{2}), dtype);
  const ValueId gp = ops::reshape(b, ops::matmul(b, gout_grouped, s.v, false, true), s.flat);
  const ValueId delta = ops::sum(b, ops::mul(b, gout, out), Ints{3}, true);
  const ValueId gs = ops::mul(b, p, ops::sub(b, dropped(b, node, inputs, places, gp), delta));
  const ScoreGradients g = through_scores(b, node, inputs, places, s, gs);
  std::vector<ValueId> outputs = {g.q, g.k, gv};
  if (places.bias) outputs.push_back(g.bias);
  return outputs;
}

std::vector<ValueId> attention_lse_backward(Builder& b, const Node& node, ValueId lse, ValueId glse) {
  const AttentionPlaces places = attention_places(node, node.inputs.size(), 3);
  const Scores s = emit_scores(b, node, node.inputs, places);
  const ValueId gs = ops::mul(b, probabilities(b, s.scores, lse), ops::unsqueeze(b, glse, {3}));
  const ScoreGradients g = through_scores(b, node, node.inputs, places, s, gs);
  std::vector<ValueId> cotangents = {g.q, g.k, ValueId()};
  if (places.bias) cotangents.push_back(g.bias);
  return cotangents;
}

}  // namespace reprise
