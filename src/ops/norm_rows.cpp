// SPDX-License-Identifier: Apache-2.0
// Layer norm and RMS norm over the last dimension, and their gradients. Statistics are float32 (float64 for float64).
#include <fmt/format.h>

#include "base/row_formulas.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/row_families.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

// ---- types -------------------------------------------------------------------------------------------------------

/// Requires vector input i of x's dtype and width.
void require_vector(const Node& node, TypeSpan inputs, std::size_t i) {
  const Shape& x = inputs[0].shape;
  require_types(inputs[i].dtype == inputs[0].dtype && inputs[i].shape.rank() == 1 && inputs[i].shape.dim(0) == x.dim(x.rank() - 1), node,
                inputs, fmt::format("input {} must be a vector of the input's dtype and last extent", i));
}

void require_rows(const Node& node, TypeSpan inputs) {
  require_real(node, inputs);
  require_types(inputs[0].shape.rank() >= 1, node, inputs, "the input must have at least one dimension");
}

/// The type of a statistic: one number a row.
TensorType statistic_type(const TensorType& x) { return with_shape(x, without_last(x.shape), statistic_dtype(x.dtype)); }

TensorTypes infer_layer_norm(const Node& node, TypeSpan inputs) {
  const auto& attrs = node.as<NormAttrs>();
  const std::size_t count = std::size_t{1} + (attrs.has_weight ? 1 : 0) + (attrs.has_bias ? 1 : 0);
  require_count(node, inputs, count, count);
  require_rows(node, inputs);
  for (std::size_t i = 1; i < count; ++i) require_vector(node, inputs, i);
  return {inputs[0], statistic_type(inputs[0]), statistic_type(inputs[0])};
}

TensorTypes infer_rms_norm(const Node& node, TypeSpan inputs) {
  const std::size_t count = node.as<NormAttrs>().has_weight ? 2 : 1;
  require_count(node, inputs, count, count);
  require_rows(node, inputs);
  if (count == 2) require_vector(node, inputs, 1);
  return {inputs[0], statistic_type(inputs[0])};
}

/// inputs (x, statistics..., gy, weight?)
TensorTypes infer_norm_backward(const Node& node, TypeSpan inputs, std::size_t statistics) {
  const auto& attrs = node.as<NormAttrs>();
  const std::size_t count = 2 + statistics + (attrs.has_weight ? 1 : 0);
  require_count(node, inputs, count, count);
  require_rows(node, inputs);
  for (std::size_t i = 1; i <= statistics; ++i) {
    require_types(inputs[i] == statistic_type(inputs[0]), node, inputs,
                  fmt::format("input {} must be {}", i, statistic_type(inputs[0]).str()));
  }
  require_types(inputs[1 + statistics] == inputs[0], node, inputs, "the cotangent must have the input's type");
  if (attrs.has_weight) require_vector(node, inputs, 2 + statistics);
  const TensorType row = with_shape(inputs[0], Shape{inputs[0].shape.back()});
  TensorTypes outputs = {inputs[0]};
  if (attrs.has_weight) outputs.push_back(row);
  if (attrs.has_bias) outputs.push_back(row);
  return outputs;
}

TensorTypes infer_layer_norm_backward(const Node& node, TypeSpan inputs) { return infer_norm_backward(node, inputs, 2); }
TensorTypes infer_rms_norm_backward(const Node& node, TypeSpan inputs) { return infer_norm_backward(node, inputs, 1); }

// ---- derivatives -------------------------------------------------------------------------------------------------

/// A statistic as a column beside x, in x's dtype.
ValueId column(Builder& b, ValueId statistic, DType dtype) { return ops::cast(b, ops::unsqueeze(b, statistic, {-1}), dtype); }

ValueId sum_present(Builder& b, ValueId x, ValueId y) {
  if (!x.valid() || !y.valid()) return x.valid() ? x : y;
  return ops::add(b, x, y);
}

/// What reaches x through the saved statistics: d mean / dx = 1 / n, d rstd / dx = -rstd^3 (x - mean) / n.
ValueId through_statistics(VjpContext& c, ValueId mean, ValueId rstd, ValueId g_mean, ValueId g_rstd) {
  Builder& b = c.b;
  const DType dtype = b.dtype(c.in(0));
  const double n = static_cast<double>(b.shape(c.in(0)).back());
  ValueId g;
  if (g_rstd.valid()) {
    const ValueId cube = ops::mul(b, ops::square(b, rstd), rstd);
    const ValueId slope = ops::mul_scalar(b, ops::mul(b, g_rstd, cube), -1 / n);
    const ValueId centred = mean.valid() ? ops::sub(b, c.in(0), column(b, mean, dtype)) : c.in(0);
    g = ops::mul(b, centred, column(b, slope, dtype));
  }
  if (g_mean.valid()) {
    const ValueId each = ops::expand(b, column(b, ops::mul_scalar(b, g_mean, 1 / n), dtype), b.shape(c.in(0)));
    g = sum_present(b, g, each);
  }
  return g;
}

std::vector<ValueId> layer_norm_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(c.node.inputs.size());
  const auto attrs = c.node.as<NormAttrs>();
  if (c.gy().valid()) {
    gradients = ops::layer_norm_backward(c.b, c.in(0), c.out(1), c.out(2), c.gy(), attrs.has_weight ? c.in(1) : ValueId(), attrs);
  }
  gradients[0] = sum_present(c.b, gradients[0], through_statistics(c, c.out(1), c.out(2), c.gy(1), c.gy(2)));
  return gradients;
}

std::vector<ValueId> rms_norm_vjp(VjpContext& c) {
  std::vector<ValueId> gradients(c.node.inputs.size());
  const auto attrs = c.node.as<NormAttrs>();
  if (c.gy().valid()) {
    gradients = ops::rms_norm_backward(c.b, c.in(0), c.out(1), c.gy(), attrs.has_weight ? c.in(1) : ValueId(), attrs);
  }
  gradients[0] = sum_present(c.b, gradients[0], through_statistics(c, ValueId(), c.out(1), ValueId(), c.gy(1)));
  return gradients;
}

// ---- decompositions ----------------------------------------------------------------------------------------------

ValueId widened(Builder& b, ValueId x) { return ops::cast(b, x, statistic_dtype(b.dtype(x))); }

ValueId factor(Builder& b, ValueId weight, bool unit_offset) {
  const ValueId wide = widened(b, weight);
  return unit_offset ? ops::add_scalar(b, wide, 1) : wide;
}

ValueId row_mean(Builder& b, ValueId x) { return ops::mean(b, x, Ints{-1}, true); }

ValueId drop_last(Builder& b, ValueId x) { return ops::squeeze(b, x, {-1}); }

std::vector<ValueId> decompose_layer_norm(Builder& b, const Node& node, std::span<const ValueId> inputs) {
  const auto attrs = node.as<NormAttrs>();
  const ValueId x = widened(b, inputs[0]);
  const ValueId mean = row_mean(b, x);
  const ValueId centred = ops::sub(b, x, mean);
  const ValueId rstd = ops::rsqrt(b, ops::add_scalar(b, row_mean(b, ops::square(b, centred)), attrs.eps));
  ValueId y = ops::mul(b, centred, rstd);
  std::size_t next = 1;
  if (attrs.has_weight) y = ops::mul(b, y, factor(b, inputs[next++], attrs.unit_offset));
  if (attrs.has_bias) y = ops::add(b, y, widened(b, inputs[next]));
  return {ops::cast(b, y, b.dtype(inputs[0])), drop_last(b, mean), drop_last(b, rstd)};
}

std::vector<ValueId> decompose_rms_norm(Builder& b, const Node& node, std::span<const ValueId> inputs) {
  const auto attrs = node.as<NormAttrs>();
  const ValueId x = widened(b, inputs[0]);
  const ValueId rstd = ops::rsqrt(b, ops::add_scalar(b, row_mean(b, ops::square(b, x)), attrs.eps));
  ValueId y = ops::mul(b, x, rstd);
  if (attrs.has_weight) y = ops::mul(b, y, factor(b, inputs[1], attrs.unit_offset));
  return {ops::cast(b, y, b.dtype(inputs[0])), drop_last(b, rstd)};
}

/// Sum over all dimensions but the last, in x's dtype.
ValueId sum_rows(Builder& b, ValueId x, DType dtype) {
  Ints dims;
  for (std::size_t d = 0; d + 1 < b.shape(x).rank(); ++d) dims.push_back(static_cast<std::int64_t>(d));
  return ops::cast(b, dims.empty() ? x : ops::sum(b, x, dims), dtype);
}

std::vector<ValueId> decompose_backward(Builder& b, const Node& node, std::span<const ValueId> inputs, bool has_mean) {
  const auto attrs = node.as<NormAttrs>();
  const DType dtype = b.dtype(inputs[0]);
  const ValueId x = widened(b, inputs[0]);
  std::size_t next = 1;
  const ValueId centred = has_mean ? ops::sub(b, x, ops::unsqueeze(b, inputs[next++], {-1})) : x;
  const ValueId rstd = ops::unsqueeze(b, inputs[next++], {-1});
  const ValueId gy = widened(b, inputs[next++]);
  const ValueId normalized = ops::mul(b, centred, rstd);
  const ValueId g = attrs.has_weight ? ops::mul(b, gy, factor(b, inputs[next], attrs.unit_offset)) : gy;
  const ValueId centred_g = has_mean ? ops::sub(b, g, row_mean(b, g)) : g;
  const ValueId pull = ops::mul(b, normalized, row_mean(b, ops::mul(b, g, normalized)));
  std::vector<ValueId> outputs = {ops::cast(b, ops::mul(b, ops::sub(b, centred_g, pull), rstd), dtype)};
  if (attrs.has_weight) outputs.push_back(sum_rows(b, ops::mul(b, gy, normalized), dtype));
  if (attrs.has_bias) outputs.push_back(sum_rows(b, gy, dtype));
  return outputs;
}

// ---- evaluation --------------------------------------------------------------------------------------------------

/// The factor of column i: w, 1 + w, or 1.
template <class C>
struct Factor {
  std::vector<C> weight;
  bool unit_offset = false;
  C operator()(std::size_t i) const { return weight.empty() ? C(1) : unit_offset ? C(1) + weight[i] : weight[i]; }
};

template <class C>
Factor<C> load_factor(const EvalContext& context, std::size_t i) {
  const auto& attrs = context.node().as<NormAttrs>();
  return {attrs.has_weight ? context.load<C>(i) : std::vector<C>(), attrs.unit_offset};
}

struct RowCount {
  std::size_t rows, width;
};

RowCount row_count(const TensorType& x) {
  return {static_cast<std::size_t>(without_last(x.shape).numel()), static_cast<std::size_t>(x.shape.back())};
}

template <bool kLayer>
void evaluate_norm(EvalContext& context) {
  const auto& attrs = context.node().as<NormAttrs>();
  const RowCount shape = row_count(context.in_type(0));
  const std::size_t row_total = shape.rows;
  const std::size_t width = shape.width;
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = context.load<C>(0);
    const Factor<C> weight = load_factor<C>(context, 1);
    const std::vector<C> bias = attrs.has_bias ? context.load<C>(attrs.has_weight ? 2 : 1) : std::vector<C>();
    std::vector<C> y(x.size());
    std::vector<C> mean(row_total);
    std::vector<C> rstd(row_total);
    for (std::size_t r = 0; r < row_total; ++r) {
      const auto load = [&](std::size_t i) { return x[r * width + i]; };
      const auto store = [&](std::size_t i, C value) { y[r * width + i] = value; };
      const auto eps = static_cast<C>(attrs.eps);
      if constexpr (kLayer) {
        const auto row = rows::layer_norm_statistics<C>(width, eps, load);
        rows::layer_norm_apply<C>(width, row, load, weight, [&](std::size_t i) { return bias.empty() ? C(0) : bias[i]; }, store);
        mean[r] = row.mean;
        rstd[r] = row.rstd;
      } else {
        const auto row = rows::rms_norm_statistics<C>(width, eps, load);
        rows::rms_norm_apply<C>(width, row, load, weight, store);
        rstd[r] = row.rstd;
      }
    }
    context.store<C>(0, y);
    if constexpr (kLayer) context.store<C>(1, mean);
    context.store<C>(kLayer ? 2 : 1, rstd);
  });
}

template <bool kLayer>
void evaluate_norm_backward(EvalContext& context) {
  const auto& attrs = context.node().as<NormAttrs>();
  const RowCount shape = row_count(context.in_type(0));
  const std::size_t row_total = shape.rows;
  const std::size_t width = shape.width;
  const std::size_t gy_input = kLayer ? 3 : 2;
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = context.load<C>(0);
    const std::vector<C> mean = kLayer ? context.load<C>(1) : std::vector<C>(row_total, C(0));
    const std::vector<C> rstd = context.load<C>(kLayer ? 2 : 1);
    const std::vector<C> gy = context.load<C>(gy_input);
    const Factor<C> weight = load_factor<C>(context, gy_input + 1);
    std::vector<C> gx(x.size());
    for (std::size_t r = 0; r < row_total; ++r) {
      const rows::NormStatistics<C> row{mean[r], rstd[r]};
      const auto load = [&](std::size_t i) { return x[r * width + i]; };
      const auto load_gy = [&](std::size_t i) { return gy[r * width + i]; };
      const auto store = [&](std::size_t i, C value) { gx[r * width + i] = value; };
      if constexpr (kLayer) {
        rows::layer_norm_backward<C>(width, row, load, load_gy, weight, store);
      } else {
        rows::rms_norm_backward<C>(width, row, load, load_gy, weight, store);
      }
    }
    context.store<C>(0, gx);
    const auto store_sums = [&](std::size_t output, auto&& load) {
      std::vector<C> sums(width);
      for (std::size_t j = 0; j < width; ++j) {
        sums[j] = reduction::reduce_rows<reduction::Add<C>, C>(row_total, [&](std::size_t r) { return load(r, j); });
      }
      context.store<C>(output, sums);
    };
    if (attrs.has_weight) {
      store_sums(1, [&](std::size_t r, std::size_t j) {
        const std::size_t at = r * width + j;
        return gy[at] * rows::normalized(x[at], rows::NormStatistics<C>{mean[r], rstd[r]});
      });
    }
    if (attrs.has_bias) store_sums(attrs.has_weight ? 2 : 1, [&](std::size_t r, std::size_t j) { return gy[r * width + j]; });
  });
}

// ---- samples -----------------------------------------------------------------------------------------------------

SampleInput numbers(const Shape& shape, DType dtype = DType::float32) { return {TensorType{dtype, shape, Device::cpu}, -2, 2}; }

NormAttrs norm(double eps, bool has_weight, bool has_bias, bool unit_offset = false) {
  NormAttrs attrs;
  attrs.eps = eps;
  attrs.has_weight = has_weight;
  attrs.has_bias = has_bias;
  attrs.unit_offset = unit_offset;
  return attrs;
}

std::vector<OpSample> layer_norm_samples() {
  const DType bf = DType::bfloat16;
  return {op_sample("bare", {numbers({3, 5})}, norm(1e-5, false, false)),
          op_sample("weight", {numbers({2, 3, 5}), numbers({5})}, norm(1e-5, true, false)),
          op_sample("bias_alone", {numbers({3, 5}), numbers({5})}, norm(1e-5, false, true)),
          op_sample("both", {numbers({3, 70}), numbers({70}), numbers({70})}, norm(1e-5, true, true)),
          op_sample("large_eps", {numbers({5}), numbers({5}), numbers({5})}, norm(0.5, true, true)),
          op_sample("bfloat16", {numbers({3, 5}, bf), numbers({5}, bf), numbers({5}, bf)}, norm(1e-5, true, true), false)};
}

std::vector<OpSample> rms_norm_samples() {
  const DType bf = DType::bfloat16;
  return {op_sample("bare", {numbers({3, 5})}, norm(1e-5, false, false)),
          op_sample("weight", {numbers({2, 3, 5}), numbers({5})}, norm(1e-6, true, false)),
          op_sample("unit_offset", {numbers({3, 70}), numbers({70})}, norm(1e-6, true, false, true)),
          op_sample("large_eps", {numbers({5}), numbers({5})}, norm(0.5, true, false)),
          op_sample("bfloat16", {numbers({3, 5}, bf), numbers({5}, bf)}, norm(1e-5, true, false), false)};
}

std::vector<OpSample> backward_samples(std::size_t statistics) {
  const auto make = [&](std::string name, Shape x, NormAttrs attrs, DType dtype = DType::float32) {
    std::vector<SampleInput> inputs = {numbers(x, dtype)};
    const Shape rows = without_last(x);
    if (statistics == 2) inputs.push_back(real_input(rows, -0.5, 0.5));
    inputs.push_back(real_input(rows, 0.5, 2));
    inputs.push_back(numbers(x, dtype));
    if (attrs.has_weight) inputs.push_back(numbers(Shape{x.back()}, dtype));
    return op_sample(std::move(name), std::move(inputs), attrs, false);
  };
  std::vector<OpSample> samples = {make("bare", {3, 5}, norm(1e-5, false, false)), make("weight", {2, 3, 5}, norm(1e-5, true, false)),
                                   make("bfloat16", {3, 5}, norm(1e-5, true, statistics == 2), DType::bfloat16)};
  if (statistics == 2) {
    samples.push_back(make("both", {600, 3}, norm(1e-5, true, true)));
    samples.push_back(make("bias_alone", {3, 5}, norm(1e-5, false, true)));
  } else {
    samples.push_back(make("unit_offset", {600, 3}, norm(1e-5, true, false, true)));
  }
  return samples;
}

OpRow norm_row(Opcode opcode, decltype(OpRow::infer) infer, decltype(OpRow::evaluate) evaluate, double flops) {
  OpRow row;
  row.opcode = opcode;
  row.traits = Trait::reduction | Trait::composite;
  row.infer = std::move(infer);
  row.evaluate = std::move(evaluate);
  row.cost = cost_per_input(flops);
  return row;
}

}  // namespace

std::vector<OpRow> norm_rows() {
  OpRow layer = norm_row(op::layer_norm, infer_layer_norm, evaluate_norm<true>, 8);
  layer.vjp = layer_norm_vjp;
  layer.decompose = decompose_layer_norm;
  layer.samples = layer_norm_samples;
  OpRow layer_backward = norm_row(op::layer_norm_backward, infer_layer_norm_backward, evaluate_norm_backward<true>, 16);
  layer_backward.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
    return decompose_backward(b, node, inputs, true);
  };
  layer_backward.samples = [] { return backward_samples(2); };
  OpRow rms = norm_row(op::rms_norm, infer_rms_norm, evaluate_norm<false>, 5);
  rms.vjp = rms_norm_vjp;
  rms.decompose = decompose_rms_norm;
  rms.samples = rms_norm_samples;
  OpRow rms_backward = norm_row(op::rms_norm_backward, infer_rms_norm_backward, evaluate_norm_backward<false>, 12);
  rms_backward.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
    return decompose_backward(b, node, inputs, false);
  };
  rms_backward.samples = [] { return backward_samples(1); };
  std::vector<OpRow> all;
  for (OpRow* row : {&layer, &layer_backward, &rms, &rms_backward}) all.push_back(std::move(*row));
  return all;
}

}  // namespace reprise
