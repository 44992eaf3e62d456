// SPDX-License-Identifier: Apache-2.0
// Rows of pointwise ops of two and three inputs with broadcast.
#include <fmt/format.h>

#include <cmath>

#include "base/elementary.h"
#include "base/elementary_wide.h"
#include "base/error.h"
#include "ops/builders.h"
#include "ops/row_families.h"
#include "ops/pointwise_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

constexpr Trait kSimple = Trait::pointwise | Trait::cheap;

using Slopes = std::function<std::vector<ValueId>(VjpContext&)>;

/// Sums `g` down to the shape of input i; nothing where that is not wanted.
template <class F>
ValueId to_input(VjpContext& c, std::size_t i, F&& g) {
  if (!c.needs[i]) return ValueId();
  const ValueId whole = g();
  return ops::sum_to(c.b, whole, c.b.shape(c.in(i)));
}

ValueId scalar(VjpContext& c, double value) { return ops::full(c.b, Shape{}, c.b.dtype(c.gy()), value); }

std::vector<OpSample> pair_samples(double low, double high, bool differentiable = true) {
  return {op_sample("same", {real_input(Shape{3, 4}, low, high), real_input(Shape{3, 4}, low, high)}, NoAttrs{}, differentiable),
          op_sample("row", {real_input(Shape{3, 4}, low, high), real_input(Shape{4}, low, high)}, NoAttrs{}, differentiable),
          op_sample("column", {real_input(Shape{3, 1}, low, high), real_input(Shape{2, 3, 4}, low, high)}, NoAttrs{}, differentiable),
          op_sample("scalar", {real_input(Shape{}, low, high), real_input(Shape{5}, low, high)}, NoAttrs{}, differentiable)};
}

/// A row of f(x, y) in the inputs' dtype.
template <class F>
OpRow arithmetic_row(Opcode opcode, Trait traits, double flops, double low, double high, F f, Slopes slopes) {
  OpRow row;
  row.opcode = opcode;
  row.traits = traits | Trait::in_place_twin;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 2, 2);
    require_one_dtype(node, inputs);
    std::is_invocable_v<F, std::int64_t, std::int64_t> ? require_number(node, inputs) : require_real(node, inputs);
    return checked_in_place(node, inputs, {with_shape(inputs[0], broadcast_inputs(node, inputs))});
  };
  row.vjp = std::move(slopes);
  row.evaluate = [f](EvalContext& c) {
    const auto apply = [&](auto zero) { map_two<decltype(zero)>(c, f); };
    if constexpr (std::is_invocable_v<F, std::int64_t, std::int64_t>) {
      EvalContext::dispatch(c.out_type().dtype, apply);
    } else {
      EvalContext::dispatch_float(c.out_type().dtype, apply);
    }
  };
  row.cost = cost_per_output(flops);
  row.samples = [low, high] { return pair_samples(low, high); };
  return row;
}

void append_arithmetic(std::vector<OpRow>& rows) {
  using namespace ops;
  rows.push_back(arithmetic_row(
      op::add, kSimple, 1, -2, 2, [](auto x, auto y) { return x + y; },
      [](VjpContext& c) -> std::vector<ValueId> {
        return {to_input(c, 0, [&] { return c.gy(); }), to_input(c, 1, [&] { return c.gy(); })};
      }));
  rows.push_back(arithmetic_row(
      op::sub, kSimple, 1, -2, 2, [](auto x, auto y) { return x - y; },
      [](VjpContext& c) -> std::vector<ValueId> {
        return {to_input(c, 0, [&] { return c.gy(); }), to_input(c, 1, [&] { return neg(c.b, c.gy()); })};
      }));
  rows.push_back(arithmetic_row(
      op::mul, kSimple, 1, -2, 2, [](auto x, auto y) { return x * y; },
      [](VjpContext& c) -> std::vector<ValueId> {
        return {to_input(c, 0, [&] { return mul(c.b, c.gy(), c.in(1)); }), to_input(c, 1, [&] { return mul(c.b, c.gy(), c.in(0)); })};
      }));
  const auto divide = []<class T>(T x, T y)
    requires std::is_floating_point_v<T>
  { return x / y; };
  rows.push_back(arithmetic_row(op::div, kSimple, 4, 0.4, 2, divide, [](VjpContext& c) -> std::vector<ValueId> {
    return {to_input(c, 0, [&] { return div(c.b, c.gy(), c.in(1)); }),
            to_input(c, 1, [&] { return mul(c.b, neg(c.b, c.gy()), div(c.b, c.out(), c.in(1))); })};
  }));
}

OpRow pow_row() {
  using namespace ops;
  const auto power = []<class T>(T x, T y)
    requires std::is_floating_point_v<T>
  { return math::pow(x, y); };
  return arithmetic_row(op::pow, Trait::pointwise, 40, 0.3, 2, power, [](VjpContext& c) -> std::vector<ValueId> {
    const ValueId x = c.in(0);
    const ValueId y = c.in(1);
    const ValueId zero = scalar(c, 0);
    return {to_input(c, 0,
                     [&] {  // x^0 is constant, also at x = 0
                       const ValueId slope = mul(c.b, c.gy(), mul(c.b, y, binary(c.b, op::pow, x, add_scalar(c.b, y, -1))));
                       return where(c.b, binary(c.b, op::eq, y, zero), zero, slope);
                     }),
            to_input(c, 1, [&] {  // 0^y is constant for y > 0, and taken to be so at y = 0
              const ValueId flat = binary(c.b, op::logical_and, binary(c.b, op::eq, x, zero), binary(c.b, op::ge, y, zero));
              return mul(c.b, c.gy(), where(c.b, flat, zero, mul(c.b, c.out(), log(c.b, x))));
            })};
  });
}

OpRow fmod_row() {
  using namespace ops;
  const auto rest = [](auto x, auto y) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      return math::remainder(x, y);
    } else {
      if (y == 0) throw UserError(fmt::format("fmod: integer division by zero: {} by 0", x));
      if (y == -1) return std::int64_t{0};
      const std::int64_t r = x % y;
      return r != 0 && (r < 0) != (y < 0) ? r + y : r;
    }
  };
  return arithmetic_row(op::fmod, kSimple, 20, 0.4, 2, rest, [](VjpContext& c) -> std::vector<ValueId> {
    return {to_input(c, 0, [&] { return c.gy(); }), to_input(c, 1, [&] {
              const ValueId quotient = unary(c.b, op::floor, div(c.b, c.in(0), c.in(1)));
              return mul(c.b, neg(c.b, c.gy()), quotient);
            })};
  });
}

/// A tie gives each input half; where an input is NaN both get all.
std::vector<ValueId> extremum_slopes(VjpContext& c, Opcode loses) {
  using namespace ops;
  const ValueId tie = binary(c.b, op::eq, c.in(0), c.in(1));
  const ValueId shared = where(c.b, tie, mul_scalar(c.b, c.gy(), 0.5), c.gy());
  return {to_input(c, 0, [&] { return masked_fill(c.b, binary(c.b, loses, c.in(0), c.in(1)), shared, 0); }),
          to_input(c, 1, [&] { return masked_fill(c.b, binary(c.b, loses, c.in(1), c.in(0)), shared, 0); })};
}

void append_extrema(std::vector<OpRow>& rows) {
  rows.push_back(arithmetic_row(op::maximum, kSimple, 1, -2, 2, [](auto x, auto y) { return math::maximum(x, y); },
                                [](VjpContext& c) { return extremum_slopes(c, op::lt); }));
  rows.push_back(arithmetic_row(op::minimum, kSimple, 1, -2, 2, [](auto x, auto y) { return math::minimum(x, y); },
                                [](VjpContext& c) { return extremum_slopes(c, op::gt); }));
}

/// A row of a comparison: bool.
template <class F>
OpRow comparison_row(Opcode opcode, F f) {
  OpRow row;
  row.opcode = opcode;
  row.traits = kSimple;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 2, 2);
    require_one_dtype(node, inputs);
    return {with_shape(inputs[0], broadcast_inputs(node, inputs), DType::boolean)};
  };
  row.evaluate = [f](EvalContext& c) {
    EvalContext::dispatch(c.in_type(0).dtype, [&](auto zero) { map_two<decltype(zero), std::int64_t>(c, f); });
  };
  row.cost = cost_per_output(1);
  row.samples = [] {
    std::vector<OpSample> samples = pair_samples(-2, 2, false);
    samples.push_back(op_sample("integers", {integer_input(Shape{3, 4}, 0, 2), integer_input(Shape{4}, 0, 2)}, NoAttrs{}, false));
    return samples;
  };
  return row;
}

template <class F>
OpRow logical_row(Opcode opcode, F f) {
  OpRow row = comparison_row(opcode, f);
  row.traits = kSimple | Trait::in_place_twin;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 2, 2);
    require_bool(node, inputs, 0);
    require_bool(node, inputs, 1);
    return checked_in_place(node, inputs, {with_shape(inputs[0], broadcast_inputs(node, inputs))});
  };
  row.samples = [] { return std::vector<OpSample>{op_sample("flags", {bool_input(Shape{3, 4}), bool_input(Shape{4})}, NoAttrs{}, false)}; };
  return row;
}

void append_comparisons(std::vector<OpRow>& rows) {
  rows.push_back(comparison_row(op::eq, [](auto x, auto y) { return x == y; }));
  rows.push_back(comparison_row(op::ne, [](auto x, auto y) { return x != y; }));
  rows.push_back(comparison_row(op::lt, [](auto x, auto y) { return x < y; }));
  rows.push_back(comparison_row(op::le, [](auto x, auto y) { return x <= y; }));
  rows.push_back(comparison_row(op::gt, [](auto x, auto y) { return x > y; }));
  rows.push_back(comparison_row(op::ge, [](auto x, auto y) { return x >= y; }));
  rows.push_back(logical_row(op::logical_and, [](auto x, auto y) { return x != 0 && y != 0; }));
  rows.push_back(logical_row(op::logical_or, [](auto x, auto y) { return x != 0 || y != 0; }));
}

OpRow where_row() {
  using namespace ops;
  OpRow row;
  row.opcode = op::where;
  row.traits = kSimple;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 3, 3);
    require_bool(node, inputs, 0);
    require_one_dtype(node, inputs.subspan(1));
    return {with_shape(inputs[1], broadcast_inputs(node, inputs))};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const ValueId condition = c.in(0);
    return {ValueId(), to_input(c, 1, [&] { return where(c.b, condition, c.gy(), scalar(c, 0)); }),
            to_input(c, 2, [&] { return where(c.b, condition, scalar(c, 0), c.gy()); })};
  };
  row.evaluate = [](EvalContext& c) {
    const auto condition = load_broadcast<std::int64_t>(c, 0);
    EvalContext::dispatch(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> result = load_broadcast<C>(c, 1);
      const std::vector<C> other = load_broadcast<C>(c, 2);
      for (std::size_t k = 0; k < result.size(); ++k) result[k] = condition[k] != 0 ? result[k] : other[k];
      c.store<C>(0, result);
    });
  };
  row.cost = cost_per_output(1);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("same", {bool_input(Shape{3, 4}), real_input(Shape{3, 4}), real_input(Shape{3, 4})}),
                                 op_sample("broadcast", {bool_input(Shape{3, 1}), real_input(Shape{}), real_input(Shape{2, 1, 4})})};
  };
  return row;
}

OpRow masked_fill_row() {
  OpRow row;
  row.opcode = op::masked_fill;
  row.traits = kSimple;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 2, 2);
    require_bool(node, inputs, 0);
    const double value = node.as<ScalarAttrs>().value;
    require_types(is_floating(inputs[1].dtype) || value == std::nearbyint(value), node, inputs,
                  fmt::format("an integer tensor takes a whole number: {}", value));
    return {with_shape(inputs[1], broadcast_inputs(node, inputs))};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    return {ValueId(), to_input(c, 1, [&] { return ops::masked_fill(c.b, c.in(0), c.gy(), 0); })};
  };
  row.evaluate = [](EvalContext& c) {
    const auto mask = load_broadcast<std::int64_t>(c, 0);
    EvalContext::dispatch(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> result = load_broadcast<C>(c, 1);
      const auto value = static_cast<C>(c.node().as<ScalarAttrs>().value);
      for (std::size_t k = 0; k < result.size(); ++k) result[k] = mask[k] != 0 ? value : result[k];
      c.store<C>(0, result);
    });
  };
  row.cost = cost_per_output(1);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("same", {bool_input(Shape{3, 4}), real_input(Shape{3, 4})}, ScalarAttrs{-7.5}),
                                 op_sample("broadcast", {bool_input(Shape{3, 1}), real_input(Shape{2, 1, 4})}, ScalarAttrs{2})};
  };
  return row;
}

OpRow lerp_row() {
  using namespace ops;
  OpRow row;
  row.opcode = op::lerp;
  row.traits = kSimple | Trait::in_place_twin;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 2, 2);
    require_one_dtype(node, inputs);
    require_real(node, inputs);
    return checked_in_place(node, inputs, {with_shape(inputs[0], broadcast_inputs(node, inputs))});
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const double weight = c.node.as<ScalarAttrs>().value;
    return {to_input(c, 0, [&] { return mul_scalar(c.b, c.gy(), 1 - weight); }),
            to_input(c, 1, [&] { return mul_scalar(c.b, c.gy(), weight); })};
  };
  row.evaluate = [](EvalContext& c) {
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      const auto weight = static_cast<C>(c.node().as<ScalarAttrs>().value);
      map_two<C>(c, [&](C x, C y) { return x + weight * (y - x); });
    });
  };
  row.cost = cost_per_output(3);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("same", {real_input(Shape{3, 4}), real_input(Shape{3, 4})}, ScalarAttrs{0.3}),
                                 op_sample("broadcast", {real_input(Shape{3, 4}), real_input(Shape{4})}, ScalarAttrs{0.9})};
  };
  return row;
}

OpRow addcmul_row() {
  using namespace ops;
  OpRow row;
  row.opcode = op::addcmul;
  row.traits = kSimple | Trait::in_place_twin;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 3, 3);
    require_one_dtype(node, inputs);
    require_real(node, inputs);
    return checked_in_place(node, inputs, {with_shape(inputs[0], broadcast_inputs(node, inputs))});
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const double value = c.node.as<ScalarAttrs>().value;
    return {to_input(c, 0, [&] { return c.gy(); }),
            to_input(c, 1, [&] { return mul(c.b, mul_scalar(c.b, c.gy(), value), c.in(2)); }),
            to_input(c, 2, [&] { return mul(c.b, mul_scalar(c.b, c.gy(), value), c.in(1)); })};
  };
  row.evaluate = [](EvalContext& c) {
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      const auto value = static_cast<C>(c.node().as<ScalarAttrs>().value);
      std::vector<C> result = load_broadcast<C>(c, 0);
      const std::vector<C> y = load_broadcast<C>(c, 1);
      const std::vector<C> z = load_broadcast<C>(c, 2);
      for (std::size_t k = 0; k < result.size(); ++k) result[k] = result[k] + value * y[k] * z[k];
      c.store<C>(0, result);
    });
  };
  row.cost = cost_per_output(3);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("same", {real_input(Shape{3, 4}), real_input(Shape{3, 4}), real_input(Shape{3, 4})},
                                           ScalarAttrs{0.7}),
                                 op_sample("broadcast", {real_input(Shape{3, 4}), real_input(Shape{4}), real_input(Shape{3, 1})},
                                           ScalarAttrs{-1})};
  };
  return row;
}

}  // namespace

std::vector<OpRow> binary_rows() {
  std::vector<OpRow> rows;
  append_arithmetic(rows);
  rows.push_back(pow_row());
  rows.push_back(fmod_row());
  append_extrema(rows);
  append_comparisons(rows);
  rows.push_back(where_row());
  rows.push_back(lerp_row());
  rows.push_back(addcmul_row());
  rows.push_back(masked_fill_row());
  return rows;
}

}  // namespace reprise
