// SPDX-License-Identifier: Apache-2.0
// Rows of pointwise ops of one input, and of the derivatives that are one formula.
#include <fmt/format.h>

#include <cmath>

#include "base/elementary.h"
#include "base/elementary_wide.h"
#include "ops/builders.h"
#include "ops/row_families.h"
#include "ops/pointwise_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

constexpr Trait kSimple = Trait::pointwise | Trait::in_place_twin | Trait::cheap;
constexpr Trait kHeavy = Trait::pointwise | Trait::in_place_twin;

/// The cotangent of the input of a one-input op.
using Slope = std::function<ValueId(VjpContext&)>;

std::vector<OpSample> unary_samples(double low, double high, bool differentiable = true) {
  return {op_sample("matrix", {real_input(Shape{3, 5}, low, high)}, NoAttrs{}, differentiable),
          op_sample("scalar", {real_input(Shape{}, low, high)}, NoAttrs{}, differentiable),
          op_sample("empty", {real_input(Shape{0, 2}, low, high)}, NoAttrs{}, differentiable)};
}

/// A row whose result has its input's type. `f` maps one number; `integers` says whether it takes integers too.
template <class F>
OpRow unary_row(Opcode opcode, Trait traits, double flops, bool integers, double low, double high, F f, Slope slope) {
  OpRow row;
  row.opcode = opcode;
  row.traits = traits;
  row.infer = [integers](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    integers ? require_number(node, inputs) : require_real(node, inputs);
    return {inputs[0]};
  };
  row.vjp = [slope](VjpContext& c) -> std::vector<ValueId> { return {slope ? slope(c) : ValueId()}; };
  row.evaluate = [f](EvalContext& c) {
    if constexpr (std::is_invocable_v<F, std::int64_t>) {
      EvalContext::dispatch(c.out_type().dtype, [&](auto zero) { map_one<decltype(zero)>(c, f); });
    } else {
      EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) { map_one<decltype(zero)>(c, f); });
    }
  };
  row.cost = cost_per_output(flops);
  row.samples = [low, high] { return unary_samples(low, high); };
  return row;
}

/// f takes float and double alone.
template <class F>
OpRow real_row(Opcode opcode, Trait traits, double flops, double low, double high, F f, Slope slope) {
  const auto floats = [f]<class T>(T x) -> T
    requires std::is_floating_point_v<T>
  { return f(x); };
  return unary_row(opcode, traits, flops, false, low, high, floats, std::move(slope));
}

/// f takes float, double and std::int64_t.
template <class F>
OpRow number_row(Opcode opcode, Trait traits, double flops, double low, double high, F f, Slope slope) {
  return unary_row(opcode, traits, flops, true, low, high, [f](auto x) { return f(x); }, std::move(slope));
}

ValueId scalar(VjpContext& c, double value) { return ops::full(c.b, Shape{}, c.b.dtype(c.in(0)), value); }

ValueId compare(VjpContext& c, Opcode opcode, ValueId x, double bound) { return c.b.emit(opcode, {x, scalar(c, bound)}); }

void append_arithmetic(std::vector<OpRow>& rows) {
  using namespace ops;
  rows.push_back(number_row(op::neg, kSimple, 1, -2, 2, [](auto x) { return -x; }, [](VjpContext& c) { return neg(c.b, c.gy()); }));
  rows.push_back(number_row(
      op::abs, kSimple, 1, -2, 2,
      [](auto x) {
        if constexpr (std::is_floating_point_v<decltype(x)>) {
          return math::abs(x);
        } else {
          return x < 0 ? -x : x;
        }
      },
      [](VjpContext& c) { return mul(c.b, c.gy(), unary(c.b, op::sign, c.in(0))); }));
  rows.push_back(number_row(op::sign, kSimple, 1, -2, 2, [](auto x) { return math::sign(x); }, nullptr));
  rows.push_back(real_row(op::floor, kSimple, 1, -3, 3, [](auto x) { return math::floor(x); }, nullptr));
  rows.push_back(real_row(op::round, kSimple, 1, -3, 3, [](auto x) { return math::round_even(x); }, nullptr));
  rows.push_back(number_row(op::square, kSimple, 1, -2, 2, [](auto x) { return x * x; },
                            [](VjpContext& c) { return mul(c.b, c.gy(), mul_scalar(c.b, c.in(0), 2)); }));
  rows.push_back(real_row(op::sqrt, kSimple, 4, 0.2, 3, [](auto x) { return math::sqrt(x); },
                          [](VjpContext& c) { return div(c.b, c.gy(), mul_scalar(c.b, c.out(), 2)); }));
  rows.push_back(real_row(op::rsqrt, kSimple, 8, 0.2, 3, [](auto x) { return math::rsqrt(x); }, [](VjpContext& c) {
    const ValueId cube = mul(c.b, square(c.b, c.out()), c.out());
    return mul(c.b, mul_scalar(c.b, c.gy(), -0.5), cube);
  }));
  rows.push_back(real_row(op::reciprocal, kSimple, 4, 0.2, 3, [](auto x) { return decltype(x)(1) / x; },
                          [](VjpContext& c) { return mul(c.b, neg(c.b, c.gy()), square(c.b, c.out())); }));
}

void append_exponentials(std::vector<OpRow>& rows) {
  using namespace ops;
  rows.push_back(real_row(op::exp, kHeavy, 12, -2, 2, [](auto x) { return math::exp(x); },
                          [](VjpContext& c) { return mul(c.b, c.gy(), c.out()); }));
  rows.push_back(real_row(op::exp2, kHeavy, 12, -2, 2, [](auto x) { return math::exp2(x); }, [](VjpContext& c) {
    return mul(c.b, c.gy(), mul_scalar(c.b, c.out(), 0.69314718055994531));
  }));
  rows.push_back(real_row(op::expm1, kHeavy, 12, -2, 2, [](auto x) { return math::expm1(x); },
                          [](VjpContext& c) { return mul(c.b, c.gy(), add_scalar(c.b, c.out(), 1)); }));
  rows.push_back(real_row(op::log, kHeavy, 16, 0.2, 3, [](auto x) { return math::log(x); },
                          [](VjpContext& c) { return div(c.b, c.gy(), c.in(0)); }));
  rows.push_back(real_row(op::log2, kHeavy, 16, 0.2, 3, [](auto x) { return math::log2(x); }, [](VjpContext& c) {
    return div(c.b, c.gy(), mul_scalar(c.b, c.in(0), 0.69314718055994531));
  }));
  rows.push_back(real_row(op::log1p, kHeavy, 20, -0.7, 3, [](auto x) { return math::log1p(x); },
                          [](VjpContext& c) { return div(c.b, c.gy(), add_scalar(c.b, c.in(0), 1)); }));
  rows.push_back(real_row(op::sin, kHeavy, 30, -3, 3, [](auto x) { return math::sin(x); },
                          [](VjpContext& c) { return mul(c.b, c.gy(), unary(c.b, op::cos, c.in(0))); }));
  rows.push_back(real_row(op::cos, kHeavy, 30, -3, 3, [](auto x) { return math::cos(x); },
                          [](VjpContext& c) { return mul(c.b, neg(c.b, c.gy()), unary(c.b, op::sin, c.in(0))); }));
  rows.push_back(real_row(op::tanh, kHeavy, 20, -2, 2, [](auto x) { return math::tanh(x); }, [](VjpContext& c) {
    return mul(c.b, c.gy(), add_scalar(c.b, neg(c.b, square(c.b, c.out())), 1));
  }));
  rows.push_back(real_row(op::erf, kHeavy, 25, -2, 2, [](auto x) { return math::erf(x); }, [](VjpContext& c) {
    const ValueId bell = exp(c.b, neg(c.b, square(c.b, c.in(0))));
    return mul(c.b, c.gy(), mul_scalar(c.b, bell, 1.1283791670955126));  // 2 / sqrt(pi)
  }));
}

void append_activations(std::vector<OpRow>& rows) {
  using namespace ops;
  rows.push_back(real_row(op::sigmoid, kHeavy, 16, -3, 3, [](auto x) { return math::sigmoid(x); }, [](VjpContext& c) {
    const ValueId rest = add_scalar(c.b, neg(c.b, c.out()), 1);
    return mul(c.b, mul(c.b, c.gy(), rest), c.out());
  }));
  rows.push_back(real_row(op::logsigmoid, kHeavy, 30, -3, 3, [](auto x) { return math::logsigmoid(x); },
                          [](VjpContext& c) { return mul(c.b, c.gy(), sigmoid(c.b, neg(c.b, c.in(0)))); }));
  rows.push_back(real_row(op::softplus, kHeavy, 30, -3, 3, [](auto x) { return math::softplus(x); }, [](VjpContext& c) {
    const ValueId slope = mul(c.b, c.gy(), sigmoid(c.b, c.in(0)));
    if (c.b.dtype(c.in(0)) != DType::float64) return slope;  // there sigmoid rounds to 1 long before 20
    return where(c.b, compare(c, op::gt, c.in(0), 20), c.gy(), slope);
  }));
  rows.push_back(number_row(op::relu, kSimple, 1, -2, 2, [](auto x) { return math::relu(x); }, [](VjpContext& c) {
    return masked_fill(c.b, compare(c, op::le, c.out(), 0), c.gy(), 0);
  }));
  rows.push_back(number_row(
      op::squared_relu, kSimple, 2, -2, 2,
      [](auto x) {
        const auto positive = math::relu(x);
        return positive * positive;
      },
      [](VjpContext& c) { return mul(c.b, c.gy(), mul_scalar(c.b, relu(c.b, c.in(0)), 2)); }));
  rows.push_back(real_row(op::silu, kHeavy, 18, -3, 3, [](auto x) { return math::silu(x); },
                          [](VjpContext& c) { return silu_backward(c.b, c.in(0), c.gy()); }));
}

/// A row of (x, gy) -> gx. `f(attrs, x)` is the derivative of the forward function.
template <class F>
OpRow slope_row(Opcode opcode, double flops, F f, std::function<std::vector<OpSample>()> samples) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::pointwise;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 2, 2);
    require_one_dtype(node, inputs);
    require_real(node, inputs);
    require_types(inputs[0].shape == inputs[1].shape, node, inputs, "x and its cotangent must have one shape");
    return {inputs[0]};
  };
  row.evaluate = [f](EvalContext& c) {
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      map_two<decltype(zero)>(c, [&](auto x, auto gy) { return gy * f(c.node(), x); });
    });
  };
  row.cost = cost_per_output(flops);
  row.samples = std::move(samples);
  return row;
}

void append_gelu(std::vector<OpRow>& rows) {
  const auto forms = [](std::vector<SampleInput> inputs, bool differentiable) {
    return std::vector<OpSample>{op_sample("erf_form", inputs, GeluAttrs{false}, differentiable),
                                 op_sample("tanh_form", inputs, GeluAttrs{true}, differentiable)};
  };
  OpRow row = real_row(op::gelu, kHeavy, 30, -3, 3, [](auto x) { return math::gelu(x); }, [](VjpContext& c) {
    return ops::gelu_backward(c.b, c.in(0), c.gy(), c.node.as<GeluAttrs>().tanh_form);
  });
  row.evaluate = [](EvalContext& c) {
    const bool tanh_form = c.node().as<GeluAttrs>().tanh_form;
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      map_one<decltype(zero)>(c, [&](auto x) { return tanh_form ? math::gelu_tanh(x) : math::gelu(x); });
    });
  };
  row.samples = [forms] { return forms({real_input(Shape{3, 5}, -4, 4)}, true); };
  rows.push_back(std::move(row));

  rows.push_back(slope_row(
      op::gelu_backward, 40,
      [](const Node& node, auto x) { return node.as<GeluAttrs>().tanh_form ? math::gelu_tanh_grad(x) : math::gelu_grad(x); },
      [forms] { return forms({real_input(Shape{3, 5}, -4, 4), real_input(Shape{3, 5})}, false); }));
  rows.push_back(slope_row(op::silu_backward, 22, [](const Node&, auto x) { return math::silu_grad(x); }, [] {
    return std::vector<OpSample>{op_sample("matrix", {real_input(Shape{3, 5}, -4, 4), real_input(Shape{3, 5})}, NoAttrs{}, false)};
  }));
}

/// A row of an op of x and one number. `f(x, number)` gets both in the type it computes in.
template <class F>
OpRow scalar_row(Opcode opcode, Trait traits, double flops, bool integers, double low, double high, F f, Slope slope,
                 std::vector<double> values) {
  OpRow row;
  row.opcode = opcode;
  row.traits = traits;
  row.infer = [integers](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    integers ? require_number(node, inputs) : require_real(node, inputs);
    const double value = node.as<ScalarAttrs>().value;
    require_types(is_floating(inputs[0].dtype) || value == std::nearbyint(value), node, inputs,
                  fmt::format("an integer tensor takes a whole number, cast it first: {}", value));
    return {inputs[0]};
  };
  row.vjp = [slope](VjpContext& c) -> std::vector<ValueId> { return {slope(c)}; };
  row.evaluate = [f](EvalContext& c) {
    const double value = c.node().as<ScalarAttrs>().value;
    const auto apply = [&](auto zero) {
      using C = decltype(zero);
      map_one<C>(c, [&, number = static_cast<C>(value)](C x) { return f(x, number); });
    };
    if constexpr (std::is_invocable_v<F, std::int64_t, std::int64_t>) {
      EvalContext::dispatch(c.out_type().dtype, apply);
    } else {
      EvalContext::dispatch_float(c.out_type().dtype, apply);
    }
  };
  row.cost = cost_per_output(flops);
  row.samples = [values, low, high] {
    std::vector<OpSample> samples;
    for (const double value : values) {
      samples.push_back(op_sample(fmt::format("by_{}", value), {real_input(Shape{3, 4}, low, high)}, ScalarAttrs{value}));
    }
    return samples;
  };
  return row;
}

double attribute(const VjpContext& c) { return c.node.as<ScalarAttrs>().value; }

void append_scalar_ops(std::vector<OpRow>& rows) {
  using namespace ops;
  rows.push_back(scalar_row(op::add_scalar, kSimple, 1, true, -2, 2, [](auto x, auto s) { return x + s; },
                            [](VjpContext& c) { return c.gy(); }, {1.5, -3}));
  rows.push_back(scalar_row(op::mul_scalar, kSimple, 1, true, -2, 2, [](auto x, auto s) { return x * s; },
                            [](VjpContext& c) { return mul_scalar(c.b, c.gy(), attribute(c)); }, {0.3, -2}));
  const auto divide = []<class T>(T x, T s)
    requires std::is_floating_point_v<T>
  { return x / s; };
  rows.push_back(scalar_row(op::div_scalar, kSimple, 4, false, -2, 2, divide,
                            [](VjpContext& c) { return div_scalar(c.b, c.gy(), attribute(c)); }, {3, -0.7}));
  const auto power = []<class T>(T x, T s)
    requires std::is_floating_point_v<T>
  { return math::pow(x, s); };
  rows.push_back(scalar_row(op::pow_scalar, kHeavy, 40, false, 0.2, 2, power,
                            [](VjpContext& c) {
                              const double exponent = attribute(c);
                              if (exponent == 0) return ValueId();
                              return mul(c.b, c.gy(), mul_scalar(c.b, pow_scalar(c.b, c.in(0), exponent - 1), exponent));
                            },
                            {2, 3, 0.5, -1, 0, 2.5}));
  const auto capped = []<class T>(T x, T cap)
    requires std::is_floating_point_v<T>
  { return cap * math::tanh(x / cap); };
  rows.push_back(scalar_row(op::softcap, kHeavy, 26, false, -40, 40, capped,
                            [](VjpContext& c) {
                              const ValueId t = div_scalar(c.b, c.out(), attribute(c));
                              return mul(c.b, c.gy(), add_scalar(c.b, neg(c.b, square(c.b, t)), 1));
                            },
                            {30, 2}));
}

OpRow clamp_row() {
  OpRow row;
  row.opcode = op::clamp;
  row.traits = kSimple;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_number(node, inputs);
    const auto& a = node.as<ClampAttrs>();
    require_types(a.min.has_value() || a.max.has_value(), node, inputs, "needs a lower or an upper bound");
    return {inputs[0]};
  };
  // 0 at a bound itself, outside, and at NaN.
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const auto& a = c.node.as<ClampAttrs>();
    ValueId inside = a.min ? compare(c, op::gt, c.in(0), *a.min) : compare(c, op::lt, c.in(0), *a.max);
    if (a.min && a.max) inside = ops::binary(c.b, op::logical_and, inside, compare(c, op::lt, c.in(0), *a.max));
    return {ops::where(c.b, inside, c.gy(), scalar(c, 0))};
  };
  row.evaluate = [](EvalContext& c) {
    const auto& a = c.node().as<ClampAttrs>();
    EvalContext::dispatch(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      map_one<C>(c, [&](C x) {
        if (a.min && x < static_cast<C>(*a.min)) x = static_cast<C>(*a.min);
        if (a.max && x > static_cast<C>(*a.max)) x = static_cast<C>(*a.max);
        return x;
      });
    });
  };
  row.cost = cost_per_output(2);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("both", {real_input(Shape{3, 5})}, ClampAttrs{-1.0, 1.25}),
                                 op_sample("min", {real_input(Shape{7})}, ClampAttrs{0.5, {}}),
                                 op_sample("max", {real_input(Shape{7})}, ClampAttrs{{}, 0.5})};
  };
  return row;
}

OpRow logical_not_row() {
  OpRow row;
  row.opcode = op::logical_not;
  row.traits = kSimple;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_bool(node, inputs);
    return {inputs[0]};
  };
  row.evaluate = [](EvalContext& c) { map_one<std::int64_t>(c, [](std::int64_t x) { return std::int64_t{x == 0}; }); };
  row.cost = cost_per_output(1);
  row.samples = [] { return std::vector<OpSample>{op_sample("flags", {bool_input(Shape{3, 4})}, NoAttrs{}, false)}; };
  return row;
}

}  // namespace

std::vector<OpRow> pointwise_rows() {
  std::vector<OpRow> rows;
  append_arithmetic(rows);
  append_exponentials(rows);
  append_activations(rows);
  append_gelu(rows);
  append_scalar_ops(rows);
  rows.push_back(clamp_row());
  rows.push_back(logical_not_row());
  return rows;
}

}  // namespace reprise
