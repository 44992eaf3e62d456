// SPDX-License-Identifier: Apache-2.0
// Rows of the clipping coefficient and the AdamW update. The update's formula: base/adamw_formula.h.
// Stochastic rounding draws word i of the stream (seed, subsequence of step, parameter and which of p, m, v) for
// element i: the same under any plan, thread count and resume.
#include <fmt/format.h>

#include "base/adamw_formula.h"
#include "base/error.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

OpRow clip_coefficient_row() {
  OpRow row;
  row.opcode = op::clip_coefficient;
  row.traits = Trait::cheap;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_scalar(node, inputs, 0, statistic_dtype(inputs[0].dtype));
    const double max_norm = node.as<ScalarAttrs>().value;
    require_types(max_norm > 0, node, inputs, fmt::format("the largest norm must be above 0: {}", max_norm));
    return {inputs[0]};
  };
  row.evaluate = [](EvalContext& c) {
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      const auto max_norm = static_cast<C>(c.node().as<ScalarAttrs>().value);
      const C factor = max_norm / (math::sqrt(c.scalar<C>(0)) + static_cast<C>(1e-6));
      const C coefficient = math::minimum(C(1), factor);
      c.store<C>(0, std::span<const C>(&coefficient, 1));
    });
  };
  row.cost = cost_per_output(4);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("clipped", {real_input(Shape{}, 4, 9)}, ScalarAttrs{1}, false),
                                 op_sample("not_clipped", {real_input(Shape{}, 4, 9)}, ScalarAttrs{100}, false)};
  };
  return row;
}

// ---- adamw: (p, g, m, v, lr, step, coefficient?, master?, seed?) -> (p, m, v, master?) --------------------------------

struct AdamWPlaces {
  std::size_t coefficient, master, seed, count;
};

AdamWPlaces places(const AdamWAttrs& a) {
  const std::size_t master = 6 + (a.has_coefficient ? 1 : 0);
  const std::size_t seed = master + (a.has_master ? 1 : 0);
  return {6, master, seed, seed + (a.rounding == Rounding::stochastic ? 1 : 0)};
}

TensorTypes infer_adamw(const Node& node, TypeSpan inputs) {
  const auto& a = node.as<AdamWAttrs>();
  const AdamWPlaces at = places(a);
  require_count(node, inputs, at.count, at.count);
  for (const std::size_t i : {0u, 1u, 2u, 3u}) require_real(node, inputs, i);
  for (const std::size_t i : {1u, 2u, 3u}) {
    require_types(inputs[i].shape == inputs[0].shape, node, inputs, "parameter, gradient and moments must have one shape");
  }
  const DType wide = statistic_dtype(inputs[0].dtype);
  const DType kept = a.has_master ? DType::float32 : inputs[0].dtype;
  require_types(inputs[2].dtype == kept && inputs[3].dtype == kept, node, inputs,
                fmt::format("the moments must be {}", dtype_name(kept)));
  require_types(inputs[1].dtype == inputs[0].dtype || inputs[1].dtype == wide, node, inputs,
                "the gradient must have the parameter's dtype or float32");
  require_scalar(node, inputs, 4, wide);
  require_scalar(node, inputs, 5, DType::int64);
  if (a.has_coefficient) require_scalar(node, inputs, at.coefficient, wide);
  if (a.has_master) {
    require_types(inputs[at.master] == with_shape(inputs[0], inputs[0].shape, DType::float32) && inputs[0].dtype == DType::bfloat16, node,
                  inputs, "a float32 master goes with a bfloat16 parameter of its shape");
  }
  if (a.rounding == Rounding::stochastic) {
    require_types(inputs[0].dtype == DType::bfloat16 && !a.has_master, node, inputs,
                  "stochastic rounding is for bfloat16 parameters without a master");
    require_scalar(node, inputs, at.seed, DType::int64);
  }
  require_types(a.parameter >= 0 && a.parameter <= INT32_MAX, node, inputs, fmt::format("not a parameter's index: {}", a.parameter));
  TensorTypes outputs = {inputs[0], inputs[2], inputs[3]};
  if (a.has_master) outputs.push_back(inputs[at.master]);
  return outputs;
}

template <class C>
void evaluate_adamw(EvalContext& c) {
  const auto& a = c.node().as<AdamWAttrs>();
  const AdamWPlaces at = places(a);
  const auto t = c.scalar<std::int64_t>(5);
  if (t < 1) throw UserError(fmt::format("adamw: steps count from 1: {}", t));
  const optimizer::AdamWStep<C> step =
      optimizer::adamw_step<C>(static_cast<double>(c.scalar<C>(4)), a.beta1, a.beta2, a.eps, a.weight_decay, t);
  const C coefficient = a.has_coefficient ? c.scalar<C>(at.coefficient) : C(1);
  std::vector<C> p = c.load<C>(a.has_master ? at.master : 0);
  std::vector<C> m = c.load<C>(2);
  std::vector<C> v = c.load<C>(3);
  const std::vector<C> g = c.load<C>(1);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const optimizer::AdamWElement<C> next =
        optimizer::adamw_element<C>(step, p[i], a.has_coefficient ? coefficient * g[i] : g[i], m[i], v[i]);
    p[i] = next.p;
    m[i] = next.m;
    v[i] = next.v;
  }
  if (a.rounding == Rounding::stochastic) {
    const auto seed = static_cast<std::uint64_t>(c.scalar<std::int64_t>(at.seed));
    const auto round_all = [&](std::vector<C>& values, optimizer::Rounded which) {
      const std::uint64_t subsequence =
          optimizer::rounding_subsequence(static_cast<std::uint64_t>(t), static_cast<std::uint32_t>(a.parameter), which);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t word = philox_word(seed, i, subsequence);
        values[i] = static_cast<C>(to_float(optimizer::stochastic_bfloat16(static_cast<float>(values[i]), word)));
      }
    };
    round_all(p, optimizer::Rounded::parameter);
    round_all(m, optimizer::Rounded::first_moment);
    round_all(v, optimizer::Rounded::second_moment);
  }
  c.store<C>(0, p);
  c.store<C>(1, m);
  c.store<C>(2, v);
  if (a.has_master) c.store<C>(3, p);
}

SampleInput narrow(SampleInput input) {
  input.type.dtype = DType::bfloat16;
  return input;
}

std::vector<OpSample> adamw_samples() {
  const Shape shape{3, 5};
  const SampleInput lr = real_input(Shape{}, 0.001, 0.01);
  const SampleInput step = integer_input(Shape{}, 1, 5);
  const SampleInput v = real_input(shape, 0.01, 1);
  AdamWAttrs plain;
  plain.weight_decay = 0.1;
  AdamWAttrs clipped = plain;
  clipped.has_coefficient = true;
  AdamWAttrs master = clipped;
  master.has_master = true;
  AdamWAttrs stochastic = plain;
  stochastic.rounding = Rounding::stochastic;
  stochastic.parameter = 3;
  const SampleInput wide = real_input(shape);
  return {op_sample("plain", {wide, wide, wide, v, lr, step}, plain, false),
          op_sample("clipped", {wide, wide, wide, v, lr, step, real_input(Shape{}, 0.2, 0.8)}, clipped, false),
          op_sample("master", {narrow(wide), narrow(wide), wide, v, lr, step, real_input(Shape{}, 0.2, 0.8), wide}, master, false),
          op_sample("stochastic", {narrow(wide), narrow(wide), narrow(wide), narrow(v), lr, step, integer_input(Shape{}, 0, 99)},
                    stochastic, false)};
}

OpRow adamw_row() {
  OpRow row;
  row.opcode = op::adamw;
  row.traits = Trait::pointwise | Trait::never_recompute;
  row.infer = infer_adamw;
  row.evaluate = [](EvalContext& c) {
    EvalContext::dispatch_float(c.in_type(0).dtype, [&](auto zero) { evaluate_adamw<decltype(zero)>(c); });
  };
  row.cost = cost_per_output(20);
  row.samples = adamw_samples;
  return row;
}

}  // namespace

std::vector<OpRow> optimizer_rows() { return {clip_coefficient_row(), adamw_row()}; }

}  // namespace reprise
