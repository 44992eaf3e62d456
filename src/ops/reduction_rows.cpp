// SPDX-License-Identifier: Apache-2.0
// Rows of reductions. Orders of summation: base/reduction.h.
#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/reduction_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

constexpr Trait kReduction = Trait::reduction | Trait::cheap;

std::uint64_t reduced(const Node& node, const Shape& shape) { return reduced_dims(shape, node.as<ReduceAttrs>().dims); }

/// `shape` with the reduced dimensions at extent 1, or without them.
Shape reduced_shape(const Shape& shape, std::uint64_t set, bool keepdim) {
  Shape result;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (((set >> d) & 1u) == 0) {
      result.append(shape.dim(d));
    } else if (keepdim) {
      result.append(1);
    }
  }
  return result;
}

/// Elements per result.
std::int64_t reduced_count(const Shape& shape, std::uint64_t set) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) n *= ((set >> d) & 1u) != 0 ? shape[d] : 1;
  return n;
}

std::int64_t reduced_count(const VjpContext& c) {
  const Shape& shape = c.b.shape(c.in(0));
  return reduced_count(shape, reduced(c.node, shape));
}

/// A value of the result's shape, with the reduced dimensions back at extent 1.
ValueId kept(VjpContext& c, ValueId value) {
  const Shape& shape = c.b.shape(c.in(0));
  return ops::reshape(c.b, value, reduced_shape(shape, reduced(c.node, shape), true));
}

/// The same, broadcast to the input's shape.
ValueId spread(VjpContext& c, ValueId value) {
  const ValueId narrow = kept(c, value);
  return ops::expand(c.b, narrow, c.b.shape(c.in(0)));
}

TensorTypes infer_reduction(const Node& node, TypeSpan inputs, bool integers, bool needs_elements) {
  require_count(node, inputs, 1, 1);
  integers ? require_number(node, inputs) : require_real(node, inputs);
  const Shape& shape = inputs[0].shape;
  std::uint64_t set = 0;
  try {
    set = reduced(node, shape);
  } catch (const UserError& error) {
    type_error(node, inputs, error.what());
  }
  if (needs_elements && reduced_count(shape, set) == 0 && reduced_shape(shape, set, false).numel() != 0) {
    type_error(node, inputs, "has no value over no elements");
  }
  return {with_shape(inputs[0], reduced_shape(shape, set, node.as<ReduceAttrs>().keepdim))};
}

std::vector<OpSample> reduction_samples(std::int64_t correction = 0, double low = -2, double high = 2) {
  const auto input = [=](const Shape& shape) { return std::vector<SampleInput>{real_input(shape, low, high)}; };
  return {op_sample("all", input(Shape{2, 3, 5}), ReduceAttrs{{}, false, correction}),
          op_sample("last", input(Shape{4, 7}), ReduceAttrs{Ints{-1}, false, correction}),
          op_sample("first_keep", input(Shape{4, 3}), ReduceAttrs{Ints{0}, true, correction}),
          op_sample("outer_pair", input(Shape{2, 3, 4}), ReduceAttrs{Ints{0, 2}, false, correction})};
}

/// A row whose result is one number per group of elements; `f(plan rule, n, load)` reduces one group.
template <class F>
OpRow reduce_row(Opcode opcode, bool integers, bool needs_elements, double flops, F f) {
  OpRow row;
  row.opcode = opcode;
  row.traits = kReduction;
  row.infer = [=](const Node& node, TypeSpan inputs) { return infer_reduction(node, inputs, integers, needs_elements); };
  row.evaluate = [f](EvalContext& c) {
    const ReducePlan plan = reduce_plan(c.in_type(0).shape, reduced(c.node(), c.in_type(0).shape));
    const auto apply = [&](auto zero) {
      using C = decltype(zero);
      const std::vector<C> x = c.load<C>(0);
      std::vector<C> result(plan.bases.size());
      for (std::size_t o = 0; o < result.size(); ++o) {
        result[o] = f(c.node(), plan.rule, plan.steps.size(), [&, base = plan.bases[o]](std::size_t r) { return x[base + plan.steps[r]]; });
      }
      c.store<C>(0, result);
    };
    // The type that `f` is first called with decides what it takes: integers as well, or floats alone.
    if constexpr (F::kTakesIntegers) {
      EvalContext::dispatch(c.in_type(0).dtype, apply);
    } else {
      EvalContext::dispatch_float(c.in_type(0).dtype, apply);
    }
  };
  row.cost = cost_per_input(flops);
  row.samples = [] { return reduction_samples(); };
  return row;
}

template <template <class> class Op>
struct Fold {
  static constexpr bool kTakesIntegers = true;
  template <class Load>
  auto operator()(const Node&, reduction::Rule rule, std::size_t n, const Load& load) const {
    using T = decltype(load(0));
    return reduce_by<Op<T>, T>(rule, n, load);
  }
};

/// Largest or smallest: as Fold, but integers have no infinity to start from.
template <template <class> class Op>
struct Extremum {
  static constexpr bool kTakesIntegers = true;
  template <class Load>
  auto operator()(const Node& node, reduction::Rule rule, std::size_t n, const Load& load) const {
    using T = decltype(load(0));
    if constexpr (std::is_floating_point_v<T>) {
      return Fold<Op>()(node, rule, n, load);
    } else {
      T result = load(0);
      for (std::size_t r = 1; r < n; ++r) result = Op<T>::combine(result, load(r));
      return result;
    }
  }
};

template <class Load>
auto mean_of(reduction::Rule rule, std::size_t n, const Load& load) {
  using T = decltype(load(0));
  return reduce_by<reduction::Add<T>, T>(rule, n, load) / static_cast<T>(n);
}

struct Mean {
  static constexpr bool kTakesIntegers = false;
  auto operator()(const Node&, reduction::Rule rule, std::size_t n, const auto& load) const { return mean_of(rule, n, load); }
};

/// Sum of squared distances from the mean over n - correction.
struct Variance {
  static constexpr bool kTakesIntegers = false;
  auto operator()(const Node& node, reduction::Rule rule, std::size_t n, const auto& load) const {
    using T = decltype(load(0));
    const T mean = mean_of(rule, n, load);
    const T squares = reduce_by<reduction::Add<T>, T>(rule, n, [&](std::size_t r) {
      const T centred = load(r) - mean;
      return centred * centred;
    });
    return squares / static_cast<T>(static_cast<std::int64_t>(n) - node.as<ReduceAttrs>().correction);
  }
};

struct Deviation {
  static constexpr bool kTakesIntegers = false;
  auto operator()(const Node& node, reduction::Rule rule, std::size_t n, const auto& load) const {
    return math::sqrt(Variance()(node, rule, n, load));
  }
};

struct Norm {
  static constexpr bool kTakesIntegers = false;
  auto operator()(const Node&, reduction::Rule rule, std::size_t n, const auto& load) const {
    using T = decltype(load(0));
    return math::sqrt(reduce_by<reduction::Add<T>, T>(rule, n, [&](std::size_t r) { return load(r) * load(r); }));
  }
};

// ---- derivatives --------------------------------------------------------------------------------------------------

/// Ties share evenly.
std::vector<ValueId> extremum_slope(VjpContext& c) {
  using namespace ops;
  const ValueId x = c.in(0);
  const ValueId mask = cast(c.b, binary(c.b, op::eq, x, kept(c, c.out())), c.b.dtype(x));
  const ValueId count = sum(c.b, mask, c.node.as<ReduceAttrs>().dims, true);
  return {mul(c.b, mask, div(c.b, kept(c, c.gy()), count))};
}

/// The product of all other elements, from products of those before and those after: right whatever is 0.
std::vector<ValueId> product_slope(VjpContext& c) {
  using namespace ops;
  const ValueId x = c.in(0);
  const Shape shape = c.b.shape(x);
  const std::uint64_t set = reduced(c.node, shape);
  const std::int64_t n = reduced_count(shape, set);
  if (n == 0) return {zeros_like(c.b, x)};

  Ints order;  // the reduced dimensions last
  for (const bool last : {false, true}) {
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if ((((set >> d) & 1u) != 0) == last) order.push_back(static_cast<std::int64_t>(d));
    }
  }
  Shape permuted;
  for (const std::int64_t d : order) permuted.append(shape.dim(static_cast<std::size_t>(d)));
  const Shape rows{reduced_shape(shape, set, false).numel(), n};

  const ValueId flat = reshape(c.b, permute(c.b, x, order), rows);
  const ValueId earlier = pad(c.b, slice(c.b, flat, 1, 0, n - 1), {0, 1}, {0, 0}, 1);
  const ValueId later = pad(c.b, slice(c.b, flat, 1, 1, n), {0, 0}, {0, 1}, 1);
  const ValueId before = cumprod(c.b, earlier, 1);
  const ValueId after = c.b.emit(op::cumprod, {later}, ScanAttrs{1, true});
  const ValueId gy = reshape(c.b, c.gy(), Shape{rows[0], 1});
  const ValueId slope = mul(c.b, mul(c.b, before, after), gy);

  Ints back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return {permute(c.b, reshape(c.b, slope, permuted), back)};
}

/// gy, already for the variance, times 2 (x - mean) / (n - correction).
ValueId variance_slope(VjpContext& c, ValueId gy) {
  using namespace ops;
  const auto& a = c.node.as<ReduceAttrs>();
  const double freedom = static_cast<double>(reduced_count(c) - a.correction);
  const ValueId centred = sub(c.b, c.in(0), mean(c.b, c.in(0), a.dims, true));
  return mul(c.b, centred, kept(c, mul_scalar(c.b, gy, 2 / freedom)));
}

/// gy / (factor y), and 0 where y is 0.
ValueId over_root(VjpContext& c, double factor) {
  using namespace ops;
  const ValueId quotient = div(c.b, c.gy(), factor == 1 ? c.out() : mul_scalar(c.b, c.out(), factor));
  const ValueId zero = full(c.b, Shape{}, c.b.dtype(c.out()), 0);
  return masked_fill(c.b, binary(c.b, op::eq, c.out(), zero), quotient, 0);
}

// ---- rows ---------------------------------------------------------------------------------------------------------

OpRow sum_row() {
  OpRow row = reduce_row(op::sum, true, false, 1, Fold<reduction::Add>());
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {spread(c, c.gy())}; };
  return row;
}

OpRow mean_row() {
  OpRow row = reduce_row(op::mean, false, false, 1, Mean());
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    return {spread(c, ops::div_scalar(c.b, c.gy(), static_cast<double>(reduced_count(c))))};
  };
  return row;
}

void append_extrema(std::vector<OpRow>& rows) {
  rows.push_back(reduce_row(op::amax, true, true, 1, Extremum<reduction::Max>()));
  rows.back().vjp = extremum_slope;
  rows.push_back(reduce_row(op::amin, true, true, 1, Extremum<reduction::Min>()));
  rows.back().vjp = extremum_slope;
}

OpRow prod_row() {
  OpRow row = reduce_row(op::prod, true, false, 1, Fold<reduction::Multiply>());
  row.vjp = product_slope;
  return row;
}

void append_spread(std::vector<OpRow>& rows) {
  using namespace ops;
  OpRow variance = reduce_row(op::var, false, false, 4, Variance());
  variance.traits = Trait::reduction | Trait::composite;
  variance.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {variance_slope(c, c.gy())}; };
  variance.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    const auto& a = node.as<ReduceAttrs>();
    const std::int64_t n = reduced_count(b.shape(inputs[0]), reduced(node, b.shape(inputs[0])));
    const ValueId centred = sub(b, inputs[0], mean(b, inputs[0], a.dims, true));
    return {div_scalar(b, sum(b, square(b, centred), a.dims, a.keepdim), static_cast<double>(n - a.correction))};
  };
  variance.samples = [] { return reduction_samples(1); };

  OpRow deviation = reduce_row(op::std, false, false, 4, Deviation());
  deviation.traits = Trait::reduction | Trait::composite;
  deviation.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {variance_slope(c, over_root(c, 2))}; };
  deviation.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    return {sqrt(b, b.emit(op::var, {inputs[0]}, node.attrs))};
  };
  deviation.samples = [] { return reduction_samples(1); };

  OpRow norm = reduce_row(op::norm2, false, false, 2, Norm());
  norm.traits = Trait::reduction | Trait::composite;
  norm.vjp = [](VjpContext& c) -> std::vector<ValueId> { return {mul(c.b, c.in(0), kept(c, over_root(c, 1)))}; };
  norm.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) -> std::vector<ValueId> {
    const auto& a = node.as<ReduceAttrs>();
    return {sqrt(b, sum(b, square(b, inputs[0]), a.dims, a.keepdim))};
  };
  for (OpRow* row : {&variance, &deviation, &norm}) rows.push_back(std::move(*row));
}

OpRow sum_squares_row() {
  using namespace ops;
  OpRow row;
  row.opcode = op::sum_squares;
  row.traits = kReduction;
  row.infer = [](const Node& node, TypeSpan inputs) -> TensorTypes {
    require_count(node, inputs, 1, 1);
    require_real(node, inputs);
    return {with_shape(inputs[0], Shape{}, statistic_dtype(inputs[0].dtype))};
  };
  row.vjp = [](VjpContext& c) -> std::vector<ValueId> {
    const DType wide = c.b.dtype(c.out());
    const ValueId slope = mul(c.b, cast(c.b, c.in(0), wide), mul_scalar(c.b, c.gy(), 2));
    return {cast(c.b, slope, c.b.dtype(c.in(0)))};
  };
  row.evaluate = [](EvalContext& c) {
    EvalContext::dispatch_float(c.out_type().dtype, [&](auto zero) {
      using C = decltype(zero);
      const std::vector<C> x = c.load<C>(0);
      const C total = reduction::reduce_all<reduction::Add<C>, C>(x.size(), [&](std::size_t i) { return x[i] * x[i]; });
      c.store<C>(0, std::span<const C>(&total, 1));
    });
  };
  row.cost = cost_per_input(2);
  row.samples = [] {
    return std::vector<OpSample>{op_sample("matrix", {real_input(Shape{3, 5})}), op_sample("scalar", {real_input(Shape{})}),
                                 op_sample("empty", {real_input(Shape{0})})};
  };
  return row;
}

}  // namespace

std::vector<OpRow> reduction_rows() {
  std::vector<OpRow> rows;
  rows.push_back(sum_row());
  rows.push_back(mean_row());
  append_extrema(rows);
  rows.push_back(prod_row());
  append_spread(rows);
  rows.push_back(sum_squares_row());
  return rows;
}

}  // namespace reprise
