// SPDX-License-Identifier: Apache-2.0
// Cross entropy of rows of logits against class indices, and its gradient. The loss is per row; means and sums over the
// kept rows are composed by the caller.
#include <fmt/format.h>

#include "base/error.h"
#include "base/row_formulas.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

TensorType row_type(const TensorType& logits) { return with_shape(logits, without_last(logits.shape), statistic_dtype(logits.dtype)); }

void require_logits(const Node& node, TypeSpan inputs) {
  require_real(node, inputs);
  require_types(inputs[0].shape.rank() == 2, node, inputs, "the logits must be [rows, classes]");
  require_index(node, inputs, 1);
  require_types(inputs[1].shape.rank() == 1 && inputs[1].shape.dim(0) == inputs[0].shape.dim(0), node, inputs,
                "needs one target for every row");
  const double smoothing = node.as<CrossEntropyAttrs>().label_smoothing;
  require_types(smoothing >= 0 && smoothing <= 1, node, inputs, fmt::format("label smoothing must be between 0 and 1, not {}", smoothing));
}

void require_class_weight(const Node& node, TypeSpan inputs, std::size_t i) {
  const DType dtype = inputs[i].dtype;
  require_types((dtype == inputs[0].dtype || dtype == statistic_dtype(inputs[0].dtype)) && inputs[i].shape.rank() == 1 &&
                    inputs[i].shape.dim(0) == inputs[0].shape.dim(1),
                node, inputs, "needs one weight for every class, in the logits' dtype or the loss's");
}

TensorTypes infer_cross_entropy(const Node& node, TypeSpan inputs) {
  const std::size_t count = node.as<CrossEntropyAttrs>().has_weight ? 3 : 2;
  require_count(node, inputs, count, count);
  require_logits(node, inputs);
  if (count == 3) require_class_weight(node, inputs, 2);
  return {row_type(inputs[0]), row_type(inputs[0])};
}

TensorTypes infer_cross_entropy_backward(const Node& node, TypeSpan inputs) {
  const std::size_t count = node.as<CrossEntropyAttrs>().has_weight ? 5 : 4;
  require_count(node, inputs, count, count);
  require_logits(node, inputs);
  for (const std::size_t i : {2u, 3u}) {
    require_types(inputs[i] == row_type(inputs[0]), node, inputs, fmt::format("input {} must be {}", i, row_type(inputs[0]).str()));
  }
  if (count == 5) require_class_weight(node, inputs, 4);
  return {inputs[0]};
}

// ---- decompositions ----------------------------------------------------------------------------------------------

/// What forward and backward share: wide logits, ignored rows, targets that are safe to look up, one-hot places.
struct Parts {
  ValueId x;
  ValueId ignored;  // [N] bool
  ValueId target;   // [N], 0 where ignored
  ValueId weight;   // [C] or invalid
};

Parts shared_parts(Builder& b, const CrossEntropyAttrs& attrs, ValueId logits, ValueId target, ValueId weight) {
  const DType wide = statistic_dtype(b.dtype(logits));
  const ValueId ignore = ops::full(b, b.shape(target), b.dtype(target), static_cast<double>(attrs.ignore_index));
  const ValueId ignored = ops::binary(b, op::eq, target, ignore);
  return {ops::cast(b, logits, wide), ignored, ops::masked_fill(b, ignored, target, 0),
          weight.valid() ? ops::cast(b, weight, wide) : ValueId()};
}

std::vector<ValueId> decompose_cross_entropy(Builder& b, const Node& node, std::span<const ValueId> inputs) {
  const auto attrs = node.as<CrossEntropyAttrs>();
  const Parts parts = shared_parts(b, attrs, inputs[0], inputs[1], attrs.has_weight ? inputs[2] : ValueId());
  const double classes = static_cast<double>(b.shape(parts.x)[1]);
  const double s = attrs.label_smoothing;
  const ValueId lse = ops::logsumexp(b, parts.x, -1);
  const ValueId chosen = ops::squeeze(b, ops::gather(b, parts.x, 1, ops::unsqueeze(b, parts.target, {1})), {1});
  ValueId loss = ops::sub(b, lse, chosen);
  if (attrs.has_weight) loss = ops::mul(b, ops::index_select(b, parts.weight, 0, parts.target), loss);
  if (s != 0) {
    ValueId spread;
    if (attrs.has_weight) {
      const ValueId each = ops::mul(b, parts.weight, ops::sub(b, ops::unsqueeze(b, lse, {1}), parts.x));
      spread = ops::mul_scalar(b, ops::sum(b, each, Ints{1}), s / classes);
    } else {
      spread = ops::mul_scalar(b, ops::sub(b, lse, ops::mean(b, parts.x, Ints{1})), s);
    }
    loss = ops::add(b, ops::mul_scalar(b, loss, 1 - s), spread);
  }
  if (attrs.z_loss != 0) loss = ops::add(b, loss, ops::mul_scalar(b, ops::square(b, lse), attrs.z_loss));
  return {ops::masked_fill(b, parts.ignored, loss, 0), ops::masked_fill(b, parts.ignored, lse, 0)};
}

std::vector<ValueId> decompose_cross_entropy_backward(Builder& b, const Node& node, std::span<const ValueId> inputs) {
  const auto attrs = node.as<CrossEntropyAttrs>();
  const Parts parts = shared_parts(b, attrs, inputs[0], inputs[1], attrs.has_weight ? inputs[4] : ValueId());
  const DType wide = b.dtype(parts.x);
  const std::int64_t classes = b.shape(parts.x)[1];
  const double s = attrs.label_smoothing;
  const double share = s / static_cast<double>(classes);
  const ValueId lse = inputs[2];
  const std::optional<Ints> all;  // named: gcc 12 with -fsanitize=address takes a temporary to be uninitialized
  const auto column = [&](ValueId row) { return ops::unsqueeze(b, row, {1}); };
  ValueId at_target = ops::full(b, b.shape(lse), wide, 1 - s);
  ValueId pull = ops::full(b, b.shape(lse), wide, 1);
  if (attrs.has_weight) {
    at_target = ops::mul_scalar(b, ops::index_select(b, parts.weight, 0, parts.target), 1 - s);
    pull = at_target;
    if (s != 0) pull = ops::add(b, pull, ops::mul_scalar(b, ops::sum(b, parts.weight, all), share));
  }
  if (attrs.z_loss != 0) pull = ops::add(b, pull, ops::mul_scalar(b, lse, 2 * attrs.z_loss));
  const ValueId hot = ops::cast(b, ops::one_hot(b, parts.target, classes), wide);
  ValueId push = ops::mul(b, hot, column(at_target));
  if (s != 0) push = attrs.has_weight ? ops::add(b, push, ops::mul_scalar(b, parts.weight, share)) : ops::add_scalar(b, push, share);
  const ValueId softmax = ops::exp(b, ops::sub(b, parts.x, column(lse)));
  const ValueId g = ops::mul(b, column(inputs[3]), ops::sub(b, ops::mul(b, softmax, column(pull)), push));
  return {ops::cast(b, ops::masked_fill(b, column(parts.ignored), g, 0), b.dtype(inputs[0]))};
}

std::vector<ValueId> cross_entropy_vjp(VjpContext& c) {
  Builder& b = c.b;
  const auto attrs = c.node.as<CrossEntropyAttrs>();
  std::vector<ValueId> gradients(c.node.inputs.size());
  if (attrs.has_weight && c.needs[2]) {
    throw UserError("the class weights of cross_entropy have no derivative; make them an input that needs none");
  }
  if (!c.needs[0]) return gradients;
  if (c.gy().valid()) {
    gradients[0] = ops::cross_entropy_backward(b, c.in(0), c.in(1), c.out(1), c.gy(), attrs, attrs.has_weight ? c.in(2) : ValueId());
  }
  if (c.gy(1).valid()) {
    // the saved log-sum-exp: its derivative is the softmax, and 0 in ignored rows
    const Parts parts = shared_parts(b, attrs, c.in(0), c.in(1), ValueId());
    const ValueId softmax = ops::exp(b, ops::sub(b, parts.x, ops::unsqueeze(b, c.out(1), {1})));
    const ValueId g = ops::mul(b, ops::unsqueeze(b, c.gy(1), {1}), softmax);
    const ValueId kept = ops::cast(b, ops::masked_fill(b, ops::unsqueeze(b, parts.ignored, {1}), g, 0), b.dtype(c.in(0)));
    gradients[0] = gradients[0].valid() ? ops::add(b, gradients[0], kept) : kept;
  }
  return gradients;
}

// ---- evaluation --------------------------------------------------------------------------------------------------

std::vector<std::int64_t> load_targets(const EvalContext& context, std::int64_t classes) {
  const std::int64_t ignore = context.node().as<CrossEntropyAttrs>().ignore_index;
  std::vector<std::int64_t> targets = context.load<std::int64_t>(1);
  for (const std::int64_t target : targets) {
    if (target != ignore && (target < 0 || target >= classes)) {
      throw UserError(fmt::format("{}: target out of range for {} classes: {}", opcode_name(context.node().opcode), classes, target));
    }
  }
  return targets;
}

template <class C>
rows::CrossEntropy<C> options(const EvalContext& context, const std::vector<C>& weight) {
  const auto& attrs = context.node().as<CrossEntropyAttrs>();
  return {attrs.ignore_index, static_cast<C>(attrs.label_smoothing), static_cast<C>(attrs.z_loss),
          attrs.has_weight ? weight.data() : nullptr};
}

void evaluate_cross_entropy(EvalContext& context) {
  const Shape& shape = context.in_type(0).shape;
  const std::vector<std::int64_t> targets = load_targets(context, shape[1]);
  const auto classes = static_cast<std::size_t>(shape[1]);
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = context.load<C>(0);
    const std::vector<C> weight = context.node().as<CrossEntropyAttrs>().has_weight ? context.load<C>(2) : std::vector<C>();
    const rows::CrossEntropy<C> opts = options(context, weight);
    std::vector<C> loss(targets.size());
    std::vector<C> lse(targets.size());
    for (std::size_t r = 0; r < targets.size(); ++r) {
      const auto row = rows::cross_entropy<C>(classes, targets[r], opts, [&](std::size_t j) { return x[r * classes + j]; });
      loss[r] = row.loss;
      lse[r] = row.lse;
    }
    context.store<C>(0, loss);
    context.store<C>(1, lse);
  });
}

void evaluate_cross_entropy_backward(EvalContext& context) {
  const Shape& shape = context.in_type(0).shape;
  const std::vector<std::int64_t> targets = load_targets(context, shape[1]);
  const auto classes = static_cast<std::size_t>(shape[1]);
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = context.load<C>(0);
    const std::vector<C> lse = context.load<C>(2);
    const std::vector<C> g = context.load<C>(3);
    const std::vector<C> weight = context.node().as<CrossEntropyAttrs>().has_weight ? context.load<C>(4) : std::vector<C>();
    const rows::CrossEntropy<C> opts = options(context, weight);
    std::vector<C> gx(x.size());
    for (std::size_t r = 0; r < targets.size(); ++r) {
      rows::cross_entropy_backward<C>(
          classes, targets[r], opts, lse[r], g[r], [&](std::size_t j) { return x[r * classes + j]; },
          [&](std::size_t j, C value) { gx[r * classes + j] = value; });
    }
    context.store<C>(0, gx);
  });
}

// ---- samples -----------------------------------------------------------------------------------------------------

CrossEntropyAttrs entropy(double smoothing, double z_loss, bool has_weight, std::int64_t ignore = -100) {
  CrossEntropyAttrs attrs;
  attrs.label_smoothing = smoothing;
  attrs.z_loss = z_loss;
  attrs.has_weight = has_weight;
  attrs.ignore_index = ignore;
  return attrs;
}

/// Samples of the forward op: (logits, target, weight?); of the backward op with lse and the loss's cotangent between.
std::vector<OpSample> entropy_samples(bool backward) {
  const auto make = [&](std::string name, std::int64_t rows, std::int64_t classes, CrossEntropyAttrs attrs, DType dtype = DType::float32) {
    std::vector<SampleInput> inputs = {{TensorType{dtype, Shape{rows, classes}, Device::cpu}, -2, 2},
                                       integer_input(Shape{rows}, 0, classes - 1)};
    if (backward) {
      inputs.push_back(real_input(Shape{rows}, 1, 3));
      inputs.push_back(real_input(Shape{rows}));
    }
    if (attrs.has_weight) inputs.push_back(real_input(Shape{classes}, 0.1, 2));
    // the class weights have no derivative
    return op_sample(std::move(name), std::move(inputs), attrs, !backward && !attrs.has_weight && dtype == DType::float32);
  };
  return {make("plain", 4, 5, entropy(0, 0, false)),
          make("ignored_class", 6, 3, entropy(0, 0, false, 1)),
          make("smooth", 4, 5, entropy(0.1, 0, false)),
          make("z_loss", 3, 5, entropy(0, 0.05, false)),
          make("smooth_z_loss_ignored", 5, 4, entropy(0.1, 0.01, false, 2)),
          make("weighted", 4, 5, entropy(0, 0, true)),
          make("weighted_smooth", 4, 5, entropy(0.2, 0.01, true)),
          make("wide", 2, 5000, entropy(0, 0, false)),
          make("bfloat16", 3, 5, entropy(0.1, 0, false), DType::bfloat16)};
}

}  // namespace

std::vector<OpRow> loss_rows() {
  OpRow forward;
  forward.opcode = op::cross_entropy;
  forward.traits = Trait::reduction | Trait::composite;
  forward.infer = infer_cross_entropy;
  forward.vjp = cross_entropy_vjp;
  forward.decompose = decompose_cross_entropy;
  forward.evaluate = evaluate_cross_entropy;
  forward.cost = cost_per_input(8);
  forward.samples = [] { return entropy_samples(false); };
  OpRow backward;
  backward.opcode = op::cross_entropy_backward;
  backward.traits = Trait::composite;
  backward.infer = infer_cross_entropy_backward;
  backward.decompose = decompose_cross_entropy_backward;
  backward.evaluate = evaluate_cross_entropy_backward;
  backward.cost = cost_per_input(8);
  backward.samples = [] { return entropy_samples(true); };
  return {forward, backward};
}

}  // namespace reprise
