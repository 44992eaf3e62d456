// SPDX-License-Identifier: Apache-2.0
// Two ops: one that is made of others, and one that is a loop of its own.
#include <reprise/op.h>

namespace {

using namespace reprise;

/// snake(x) = x + sin^2(a x) / a (Ziyin et al., 2020). Derivative, kernel and cost follow from the parts.
OpRow snake() {
  OpRow row;
  row.traits = Trait::pointwise;
  row.infer = [](const Node& node, std::span<const TensorType> inputs) {
    require_count(node, inputs, 1, 1);
    require_real(node, inputs);
    require_known_fields(node, {"a"});
    return std::vector{inputs[0]};
  };
  row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
    const double a = custom_field<double>(node, "a", 1.0);
    const ValueId wave = ops::square(b, ops::unary(b, op::sin, ops::mul_scalar(b, inputs[0], a)));
    return std::vector{ops::add(b, inputs[0], ops::div_scalar(b, wave, a))};
  };
  row.samples = [] {
    return std::vector{op_sample("default", {real_input({4, 5})}, CustomAttrs{}),
                       op_sample("slow", {real_input({7})}, CustomAttrs{"", {{"a", 0.25}}})};
  };
  return row;
}

/// recurrence(x, d)[t] = d * recurrence[t - 1] + x[t] along the last dimension; x: [.., T], d: a scalar.
template <class C>
void recur(EvalContext& context) {
  std::vector<C> x = context.load<C>(0);
  const C decay = context.scalar<C>(1);
  const auto length = static_cast<std::size_t>(context.in_type(0).shape.back());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % length != 0) x[i] += decay * x[i - 1];
  }
  context.store<C>(0, x);
}

/// (x, d, g) -> (gx, gd): gx runs backwards, gx[t] = g[t] + d gx[t + 1], and gd = sum of gx[t] y[t - 1].
template <class C>
void recur_back(EvalContext& context) {
  const std::vector<C> y = context.load<C>(0);
  const C decay = context.scalar<C>(1);
  std::vector<C> gx = context.load<C>(2);
  std::vector<C> gd(1);
  const auto length = static_cast<std::size_t>(context.in_type(0).shape.back());
  for (std::size_t i = gx.size(); i-- > 0;) {
    if (i % length + 1 != length) gx[i] += decay * gx[i + 1];
    if (i % length != 0) gd[0] += gx[i] * y[i - 1];
  }
  context.store<C>(0, gx);
  context.store<C>(1, gd);
}

Cost read_once(const Node&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  return streaming_cost(inputs, outputs, 2 * static_cast<double>(inputs[0].shape.numel()));
}

/// Opaque ops compute in the type of their inputs, float64 included: check_op compares derivatives in it.
OpRow recurrence_backward() {
  OpRow row;
  row.infer = [](const Node& node, std::span<const TensorType> inputs) {
    require_count(node, inputs, 3, 3);
    return std::vector{inputs[0], inputs[1]};
  };
  row.evaluate = [](EvalContext& context) {
    EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) { recur_back<decltype(zero)>(context); });
  };
  row.cost = read_once;
  row.samples = [] {
    return std::vector{op_sample("rows", {real_input({2, 5}), real_input({}, 0.2, 0.9), real_input({2, 5})}, CustomAttrs{}, false)};
  };
  return row;
}

OpRow recurrence(Opcode backward) {
  OpRow row;
  row.infer = [](const Node& node, std::span<const TensorType> inputs) {
    require_count(node, inputs, 2, 2);
    require_real(node, inputs, 0);
    require_types(inputs[0].shape.rank() >= 1, node, inputs, "input 0 needs a dimension to run along");
    require_scalar(node, inputs, 1, inputs[0].dtype);
    return std::vector{inputs[0]};
  };
  row.evaluate = [](EvalContext& context) {
    EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) { recur<decltype(zero)>(context); });
  };
  row.vjp = [backward](VjpContext& c) { return c.b.emit_all(backward, {c.out(), c.in(1), c.gy()}, CustomAttrs{}); };
  row.cost = read_once;
  row.samples = [] { return std::vector{op_sample("rows", {real_input({2, 5}), real_input({}, 0.2, 0.9)}, CustomAttrs{})}; };
  return row;
}

}  // namespace

REPRISE_OPS {
  register_op("snake", snake());
  register_op("recurrence", recurrence(register_op("recurrence_backward", recurrence_backward())));
}
