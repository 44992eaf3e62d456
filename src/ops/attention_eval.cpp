// SPDX-License-Identifier: Apache-2.0
// Reference implementation of attention: base/attention_formula.h row by row, on numbers of the type computed in.
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/error.h"
#include "ops/attention_config.h"
#include "ops/attention_parts.h"
#include "ops/reduction_eval.h"
#include "ops/strided_walk.h"

namespace reprise {
namespace {

attention::Config read_config(const EvalContext& context, const AttentionPlaces& places) {
  const auto& attrs = context.node().as<AttentionAttrs>();
  attention::Config config = attention_config(attrs, context.in_type(0).shape, context.in_type(1).shape, context.in_type(2).shape);
  if (attrs.dropout > 0) {
    if (!places.seed) {
      throw UserError(fmt::format("{} with dropout needs a seed; run the rng pass first", opcode_name(context.node().opcode)));
    }
    config.seed = static_cast<std::uint64_t>(context.scalar<std::int64_t>(*places.seed));
    config.draw_offset = static_cast<std::uint64_t>(context.scalar<std::int64_t>(*places.offset) + attrs.draw);
  }
  return config;
}

Shape score_shape(const attention::Config& config) { return {config.batch, config.q_heads, config.queries, config.keys}; }

template <class E>
attention::View<E> view(E* data, const std::vector<std::int64_t>& strides) {
  attention::View<E> result{data, {}};
  for (std::size_t d = 0; d < 4; ++d) result.stride[d] = strides[d];
  return result;
}

template <class E>
attention::View<E> dense(E* data, const Shape& shape) {
  return view(data, shape.dense_strides());
}

/// Output and its cotangent, which lie by tokens, [B, T, H, D], in the formula's order of dimensions.
template <class E>
attention::View<E> by_tokens(E* data, const Shape& shape) {
  attention::View<E> result = dense(data, shape);
  std::swap(result.stride[1], result.stride[2]);
  return result;
}

/// The inputs as numbers of type C, and the views that the formula reads.
template <class C>
struct Loaded {
  std::vector<C> q, k, v, bias;
  attention::Inputs<C> inputs;

  Loaded(const EvalContext& context, const AttentionPlaces& places, const Shape& scores)
      : q(context.load<C>(0)), k(context.load<C>(1)), v(context.load<C>(2)) {
    inputs.q = dense<const C>(q.data(), context.in_type(0).shape);
    inputs.k = dense<const C>(k.data(), context.in_type(1).shape);
    inputs.v = dense<const C>(v.data(), context.in_type(2).shape);
    if (places.bias) {
      bias = context.load<C>(*places.bias);
      inputs.bias = view<const C>(bias.data(), broadcast_strides(context.in_type(*places.bias).shape, scores));
    }
    if (places.mask) {
      const auto* const mask = static_cast<const std::uint8_t*>(context.in(*places.mask).data);
      inputs.mask = view(mask, broadcast_strides(context.in_type(*places.mask).shape, scores));
    }
    if (places.segments) inputs.segments = static_cast<const std::int64_t*>(context.in(*places.segments).data);
  }
};

/// Sums `full` of shape `from` down to `to`, by the reduction rules.
template <class C>
std::vector<C> sum_down(const std::vector<C>& full, const Shape& from, const Shape& to) {
  std::uint64_t reduced = 0;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    const std::size_t lead = from.rank() - to.rank();
    if (d < lead || (to[d - lead] == 1 && from[d] != 1)) reduced |= std::uint64_t{1} << d;
  }
  if (reduced == 0) return full;
  const ReducePlan plan = reduce_plan(from, reduced);
  std::vector<C> sums;
  for (const std::size_t base : plan.bases) {
    sums.push_back(
        reduce_by<reduction::Add<C>, C>(plan.rule, plan.steps.size(), [&](std::size_t r) { return full[base + plan.steps[r]]; }));
  }
  return sums;
}

}  // namespace

void evaluate_attention(EvalContext& context) {
  const AttentionPlaces places = attention_places(context.node(), context.input_count(), 3);
  const attention::Config config = read_config(context, places);
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const Loaded<C> loaded(context, places, score_shape(config));
    std::vector<C> out(static_cast<std::size_t>(context.out_type(0).shape.numel()));
    std::vector<C> lse(static_cast<std::size_t>(context.out_type(1).shape.numel()));
    std::vector<C> workspace(reduction::kKeyBlock + static_cast<std::size_t>(config.value_width));
    const attention::View<C> out_view = by_tokens(out.data(), context.out_type(0).shape);
    for (std::int64_t b = 0; b < config.batch; ++b) {
      for (std::int64_t h = 0; h < config.q_heads; ++h) {
        for (std::int64_t i = 0; i < config.queries; ++i) {
          attention::forward_row<C>(config, loaded.inputs, out_view, lse.data(), b, h, i, workspace.data());
        }
      }
    }
    context.store<C>(0, out);
    context.store<C>(1, lse);
  });
}

void evaluate_attention_backward(EvalContext& context) {
  const AttentionPlaces places = attention_places(context.node(), context.input_count(), 6);
  const attention::Config config = read_config(context, places);
  const Shape scores = score_shape(config);
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const Loaded<C> loaded(context, places, scores);
    const std::vector<C> out = context.load<C>(3);
    const std::vector<C> lse = context.load<C>(4);
    const std::vector<C> gout = context.load<C>(5);
    std::vector<C> gq(loaded.q.size());
    std::vector<C> gk(loaded.k.size());
    std::vector<C> gv(loaded.v.size());
    std::vector<C> gbias(places.bias ? static_cast<std::size_t>(scores.numel()) : 0);
    attention::Gradients<C> gradients;
    gradients.dq = dense(gq.data(), context.in_type(0).shape);
    gradients.dk = dense(gk.data(), context.in_type(1).shape);
    gradients.dv = dense(gv.data(), context.in_type(2).shape);
    if (places.bias) gradients.dbias = dense(gbias.data(), scores);
    const attention::View<const C> out_view = by_tokens<const C>(out.data(), context.in_type(3).shape);
    const attention::View<const C> gout_view = by_tokens<const C>(gout.data(), context.in_type(5).shape);
    std::vector<C> workspace(static_cast<std::size_t>(config.keys * (config.width + config.value_width) + config.width));
    for (std::int64_t b = 0; b < config.batch; ++b) {
      for (std::int64_t h = 0; h < config.kv_heads; ++h) {
        attention::backward_head<C>(config, loaded.inputs, out_view, gout_view, lse.data(), gradients, b, h, workspace.data());
      }
    }
    context.store<C>(0, gq);
    context.store<C>(1, gk);
    context.store<C>(2, gv);
    if (places.bias) context.store<C>(3, sum_down(gbias, scores, context.out_type(3).shape));
  });
}

}  // namespace reprise
