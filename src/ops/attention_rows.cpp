// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention and its gradient: types, derivative, cost and samples. The reference implementation is in
// attention_eval.cpp, the meaning in simpler ops in attention_decompose.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/attention_parts.h"
#include "ops/builders.h"
#include "ops/row_families.h"
#include "ops/row_parts.h"

namespace reprise {

AttentionPlaces attention_places(const Node& node, std::size_t input_count, std::size_t first) {
  const auto& attrs = node.as<AttentionAttrs>();
  AttentionPlaces places;
  std::size_t next = first;
  if (attrs.has_bias) places.bias = next++;
  if (attrs.has_mask) places.mask = next++;
  if (attrs.has_segments) places.segments = next++;
  if (attrs.dropout > 0 && input_count >= next + 2) {
    places.seed = next;
    places.offset = next + 1;
    next += 2;
  }
  places.end = next;
  return places;
}

namespace {

constexpr std::size_t kForwardInputs = 3;   // q, k, v
constexpr std::size_t kBackwardInputs = 6;  // q, k, v, out, lse, gout

Shape score_shape(TypeSpan inputs) {
  const Shape& q = inputs[0].shape;
  Shape shape;
  for (const Dim dim : {q.dim(0), q.dim(1), q.dim(2), inputs[1].shape.dim(2)}) shape.append(dim);
  return shape;
}

/// By tokens, [B, Tq, Hq, Dv]: the heads of a token side by side, as the projection after attention reads them.
Shape output_shape(TypeSpan inputs) {
  const Shape& q = inputs[0].shape;
  Shape shape;
  for (const Dim dim : {q.dim(0), q.dim(2), q.dim(1), inputs[2].shape.dim(3)}) shape.append(dim);
  return shape;
}

void require_attention(const Node& node, TypeSpan inputs, std::size_t first) {
  const auto& attrs = node.as<AttentionAttrs>();
  require_types(inputs.size() >= first, node, inputs, fmt::format("takes at least {} inputs", first));
  const AttentionPlaces places = attention_places(node, inputs.size(), first);
  require_count(node, inputs, places.end, places.end);
  require_real(node, inputs);
  const Shape& q = inputs[0].shape;
  const Shape& k = inputs[1].shape;
  const Shape& v = inputs[2].shape;
  require_types(inputs[1].dtype == inputs[0].dtype && inputs[2].dtype == inputs[0].dtype && q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
                node, inputs, "q, k and v must have one dtype and four dimensions: batch, head, token, width");
  require_types(q.dim(0) == k.dim(0) && k.dim(0) == v.dim(0) && k.dim(1) == v.dim(1) && k.dim(2) == v.dim(2) && q.dim(3) == k.dim(3), node,
                inputs, "batches, key heads, key counts and the widths of q and k must agree");
  require_types(k[1] > 0 && q[1] % k[1] == 0, node, inputs,
                fmt::format("query heads must be a multiple of key heads: {} and {}", q[1], k[1]));
  require_types(attrs.dropout >= 0 && attrs.dropout < 1, node, inputs,
                fmt::format("dropout must be at least 0 and below 1, not {}", attrs.dropout));
  require_types(attrs.window >= 0 && attrs.softcap >= 0, node, inputs, "window and soft cap cannot be negative; 0 means none");
  const Shape scores = score_shape(inputs);
  const auto require_broadcast = [&](std::size_t i, std::string_view name) {
    bool fits = inputs[i].shape.rank() <= 4;
    for (std::size_t d = 0; fits && d < inputs[i].shape.rank(); ++d) {
      const Dim own = inputs[i].shape.dim(d);
      fits = own == scores.dim(4 - inputs[i].shape.rank() + d) || own == Dim{1, {}};
    }
    require_types(fits, node, inputs, fmt::format("the {} does not broadcast to the scores {}", name, scores.str()));
  };
  if (places.bias) {
    require_types(inputs[*places.bias].dtype == inputs[0].dtype, node, inputs, "the bias must have q's dtype");
    require_broadcast(*places.bias, "bias");
  }
  if (places.mask) {
    require_bool(node, inputs, *places.mask);
    require_broadcast(*places.mask, "mask");
  }
  if (places.segments) {
    const TensorType& ids = inputs[*places.segments];
    require_types(ids.dtype == DType::int64 && ids.shape.rank() == 2 && ids.shape.dim(0) == q.dim(0) && ids.shape.dim(1) == k.dim(2), node,
                  inputs, "the segments must be int64 [batch, tokens]");
    require_types(q.dim(2) == k.dim(2) && attrs.offset == 0, node, inputs, "segments need as many queries as keys, and offset 0");
  }
  if (places.seed) {
    require_scalar(node, inputs, *places.seed, DType::int64);
    require_scalar(node, inputs, *places.offset, DType::int64);
  }
}

TensorType lse_type(TypeSpan inputs) { return with_shape(inputs[0], without_last(inputs[0].shape), statistic_dtype(inputs[0].dtype)); }

TensorTypes infer_attention(const Node& node, TypeSpan inputs) {
  require_attention(node, inputs, kForwardInputs);
  return {with_shape(inputs[0], output_shape(inputs)), lse_type(inputs)};
}

TensorTypes infer_attention_backward(const Node& node, TypeSpan inputs) {
  require_attention(node, inputs, kBackwardInputs);
  const TensorType output = with_shape(inputs[0], output_shape(inputs));
  require_types(inputs[3] == output && inputs[5] == output, node, inputs, fmt::format("output and cotangent must be {}", output.str()));
  require_types(inputs[4] == lse_type(inputs), node, inputs, fmt::format("the log-sum-exp must be {}", lse_type(inputs).str()));
  TensorTypes outputs = {inputs[0], inputs[1], inputs[2]};
  if (node.as<AttentionAttrs>().has_bias) outputs.push_back(inputs[kBackwardInputs]);
  return outputs;
}

std::vector<ValueId> attention_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(c.node.inputs.size());
  const auto attrs = c.node.as<AttentionAttrs>();
  const AttentionPlaces places = attention_places(c.node, c.node.inputs.size(), kForwardInputs);
  if (attrs.dropout > 0 && !places.seed) {
    throw UserError("attention with dropout needs its seed before it is differentiated; run the rng pass");
  }
  const auto input = [&](const std::optional<std::size_t>& place) { return place ? c.in(*place) : ValueId(); };
  if (c.gy().valid()) {
    const ops::AttentionInputs inputs = {c.in(0), c.in(1), c.in(2), input(places.bias), input(places.mask), input(places.segments),
                                         input(places.seed), input(places.offset)};
    const std::vector<ValueId> made = ops::attention_backward(c.b, inputs, c.out(0), c.out(1), c.gy(), attrs);
    std::copy(made.begin(), made.end(), gradients.begin());  // the bias, when there is one, is the fourth input
  }
  if (c.gy(1).valid()) {
    const std::vector<ValueId> more = attention_lse_backward(c.b, c.node, c.out(1), c.gy(1));
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (more[i].valid()) gradients[i] = gradients[i].valid() ? ops::add(c.b, gradients[i], more[i]) : more[i];
    }
  }
  return gradients;
}

/// Pairs of query and key that causal and window tests leave, over batch and query heads. Segments are data: at most so many.
double seen_pairs(const Node& node, TypeSpan inputs) {
  const auto& attrs = node.as<AttentionAttrs>();
  const Shape& q = inputs[0].shape;
  const std::int64_t keys = inputs[1].shape[2];
  double pairs = 0;
  for (std::int64_t i = 0; i < q[2]; ++i) {
    const std::int64_t position = i + attrs.offset;
    const std::int64_t end = attrs.causal ? std::clamp<std::int64_t>(position + 1, 0, keys) : keys;
    const std::int64_t begin = attrs.window > 0 ? std::clamp<std::int64_t>(position - attrs.window + 1, 0, keys) : 0;
    pairs += static_cast<double>(std::max<std::int64_t>(end - begin, 0));
  }
  return pairs * static_cast<double>(q[0]) * static_cast<double>(q[1]);
}

Cost attention_cost(const Node& node, TypeSpan inputs, TypeSpan outputs) {
  const auto widths = static_cast<double>(inputs[0].shape[3] + inputs[2].shape[3]);
  return streaming_cost(inputs, outputs, 2 * seen_pairs(node, inputs) * widths);
}

Cost attention_backward_cost(const Node& node, TypeSpan inputs, TypeSpan outputs) {
  // scores, dq and dk over the key width; dp and dv over the value width
  const auto widths = static_cast<double>(3 * inputs[0].shape[3] + 2 * inputs[2].shape[3]);
  return streaming_cost(inputs, outputs, 2 * seen_pairs(node, inputs) * widths);
}

// ---- samples -----------------------------------------------------------------------------------------------------

struct SampleShape {
  std::int64_t batch = 2, q_heads = 2, kv_heads = 2, queries = 4, keys = 4, width = 3, value_width = 3;
};

OpSample attention_sample(std::string name, const SampleShape& s, const AttentionAttrs& attrs, bool backward, const Shape& bias = {},
                          const Shape& mask = {}, DType dtype = DType::float32) {
  const auto numbers = [&](const Shape& shape) { return SampleInput{TensorType{dtype, shape, Device::cpu}, -1, 1}; };
  const Shape q{s.batch, s.q_heads, s.queries, s.width};
  const Shape out{s.batch, s.queries, s.q_heads, s.value_width};
  std::vector<SampleInput> inputs = {numbers(q), numbers(Shape{s.batch, s.kv_heads, s.keys, s.width}),
                                     numbers(Shape{s.batch, s.kv_heads, s.keys, s.value_width})};
  if (backward) {
    inputs.push_back(numbers(out));
    inputs.push_back(real_input(without_last(q), 1, 2));
    inputs.push_back(numbers(out));
  }
  if (attrs.has_bias) inputs.push_back(numbers(bias));
  if (attrs.has_mask) inputs.push_back(bool_input(mask));
  if (attrs.has_segments) inputs.push_back(integer_input(Shape{s.batch, s.keys}, 0, 2));
  if (attrs.dropout > 0) {
    inputs.push_back(integer_input(Shape{}, 1, 1000));
    inputs.push_back(integer_input(Shape{}, 8, 8));
  }
  return op_sample(std::move(name), std::move(inputs), attrs, !backward && dtype == DType::float32);
}

std::vector<OpSample> attention_samples(bool backward) {
  AttentionAttrs plain;
  plain.scale = 0.6;
  AttentionAttrs causal = plain;
  causal.causal = true;
  AttentionAttrs window = causal;
  window.window = 2;
  AttentionAttrs shifted = causal;
  shifted.offset = 3;
  AttentionAttrs capped = causal;
  capped.softcap = 0.8;
  AttentionAttrs biased = plain;
  biased.has_bias = true;
  AttentionAttrs masked = plain;  // twelve keys at random: every query sees some
  masked.has_mask = true;
  AttentionAttrs dropped = causal;
  dropped.dropout = 0.3;
  dropped.draw = 4;
  AttentionAttrs packed = causal;  // ids 0 and 1 at random: runs of every length
  packed.has_segments = true;
  AttentionAttrs packed_all = packed;
  packed_all.causal = false;
  packed_all.dropout = 0.3;
  packed_all.has_bias = true;
  return {attention_sample("plain", {}, plain, backward),
          attention_sample("causal_grouped", {2, 4, 2, 5, 5, 3, 3}, causal, backward),
          attention_sample("one_key_head", {1, 3, 1, 3, 3, 2, 2}, causal, backward),
          attention_sample("value_width", {1, 2, 2, 4, 4, 3, 5}, causal, backward),
          attention_sample("window", {1, 2, 1, 6, 6, 2, 2}, window, backward),
          attention_sample("shifted", {1, 2, 2, 3, 6, 2, 2}, shifted, backward),
          attention_sample("cross", {2, 2, 1, 3, 7, 2, 2}, plain, backward),
          attention_sample("soft_cap", {1, 2, 2, 4, 4, 3, 3}, capped, backward),
          attention_sample("bias", {2, 2, 2, 3, 4, 3, 3}, biased, backward, {2, 2, 3, 4}),
          attention_sample("bias_broadcast", {2, 2, 2, 3, 4, 3, 3}, biased, backward, {2, 1, 4}),
          attention_sample("mask", {2, 2, 2, 3, 12, 3, 3}, masked, backward, {}, {2, 1, 3, 12}),
          attention_sample("dropout", {2, 2, 1, 4, 4, 3, 3}, dropped, backward),
          attention_sample("segments", {2, 4, 2, 9, 9, 3, 3}, packed, backward),
          attention_sample("segments_bias_dropout", {2, 2, 1, 7, 7, 2, 3}, packed_all, backward, {1, 2, 7, 7}),
          attention_sample("segments_bfloat16", {1, 2, 1, 8, 8, 3, 3}, packed, backward, {}, {}, DType::bfloat16),
          attention_sample("two_key_blocks", {1, 1, 1, 2, 150, 2, 2}, plain, backward),
          attention_sample("bfloat16", {1, 2, 1, 4, 4, 3, 3}, causal, backward, {}, {}, DType::bfloat16)};
}

}  // namespace

std::vector<OpRow> attention_rows() {
  OpRow forward;
  forward.opcode = op::attention;
  forward.traits = Trait::matmul | Trait::reduction | Trait::composite;
  forward.infer = infer_attention;
  forward.vjp = attention_vjp;
  forward.decompose = decompose_attention;
  forward.evaluate = evaluate_attention;
  forward.cost = attention_cost;
  forward.samples = [] { return attention_samples(false); };
  OpRow backward;
  backward.opcode = op::attention_backward;
  backward.traits = Trait::matmul | Trait::reduction | Trait::composite;
  backward.infer = infer_attention_backward;
  backward.decompose = decompose_attention_backward;
  backward.evaluate = evaluate_attention_backward;
  backward.cost = attention_backward_cost;
  backward.samples = [] { return attention_samples(true); };
  return {forward, backward};
}

}  // namespace reprise
