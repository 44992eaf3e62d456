// SPDX-License-Identifier: Apache-2.0
// Matrix products: matmul, matmul_accumulate, linear.
#include <fmt/format.h>

#include <utility>

#include "ops/builders.h"
#include "ops/row_families.h"
#include "ops/product_eval.h"
#include "ops/row_parts.h"

namespace reprise {
namespace {

/// A matmul as [batch..., m, k] x [batch..., k, n]; vectors became matrices of one row or column.
struct ProductShape {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 0;
  Shape output;
};

ProductShape product_shape(const Node& node, TypeSpan inputs, const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
  require_types(a.rank() >= 1 && b.rank() >= 1, node, inputs, "inputs must have at least one dimension");
  require_types((a.rank() >= 2 || !transpose_a) && (b.rank() >= 2 || !transpose_b), node, inputs, "a vector cannot be transposed");
  const Dim one{1, {}};
  Dim m = a.rank() == 1 ? one : a.dim(a.rank() - 2);
  Dim k_a = a.dim(a.rank() - 1);
  Dim k_b = b.rank() == 1 ? b.dim(0) : b.dim(b.rank() - 2);
  Dim n = b.rank() == 1 ? one : b.dim(b.rank() - 1);
  if (transpose_a) std::swap(m, k_a);
  if (transpose_b) std::swap(k_b, n);
  require_types(k_a == k_b, node, inputs, "the extents that are summed over differ");
  ProductShape result{m.extent, n.extent, k_a.extent, {}};
  try {
    result.output =
        broadcast_shapes(without_last(a, std::min<std::size_t>(a.rank(), 2)), without_last(b, std::min<std::size_t>(b.rank(), 2)));
  } catch (const std::exception&) {
    type_error(node, inputs, "the leading dimensions do not broadcast");
  }
  if (a.rank() >= 2) result.output.append(m);
  if (b.rank() >= 2) result.output.append(n);
  return result;
}

TensorTypes infer_matmul(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 2, 2);
  require_floating(node, inputs, 2);
  const auto& attrs = node.as<MatmulAttrs>();
  const ProductShape shape = product_shape(node, inputs, inputs[0].shape, inputs[1].shape, attrs.transpose_a, attrs.transpose_b);
  return {with_shape(inputs[0], shape.output)};
}

Cost product_cost(const Node& node, TypeSpan inputs, TypeSpan outputs, std::size_t first) {
  const auto& attrs = node.as<MatmulAttrs>();
  const ProductShape shape =
      product_shape(node, inputs, inputs[first].shape, inputs[first + 1].shape, attrs.transpose_a, attrs.transpose_b);
  return streaming_cost(inputs, outputs, 2.0 * static_cast<double>(outputs[0].shape.numel()) * static_cast<double>(shape.k));
}

/// [..., d] -> [rows, d]
ValueId as_rows(Builder& b, ValueId x) {
  const Shape shape = b.shape(x);
  if (shape.rank() == 2) return x;
  const std::int64_t width = shape.back();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
  return ops::reshape(b, x, Shape{rows, width});
}

std::vector<ValueId> matmul_vjp(VjpContext& c) {
  Builder& b = c.b;
  const auto attrs = c.node.as<MatmulAttrs>();
  if (!c.gy().valid()) return {ValueId(), ValueId()};
  const Shape shape_x = b.shape(c.in(0));
  const Shape shape_y = b.shape(c.in(1));
  ValueId x = c.in(0);
  ValueId y = c.in(1);
  ValueId g = c.gy();
  if (shape_x.rank() == 1) {
    x = ops::unsqueeze(b, x, {0});
    g = ops::unsqueeze(b, g, {static_cast<std::int64_t>(b.shape(g).rank()) - (shape_y.rank() == 1 ? 0 : 1)});
  }
  if (shape_y.rank() == 1) {
    y = ops::unsqueeze(b, y, {1});
    g = ops::unsqueeze(b, g, {static_cast<std::int64_t>(b.shape(g).rank())});
  }
  const auto fit = [&](ValueId gradient, ValueId matrix, const Shape& wanted) {
    const ValueId summed = ops::sum_to(b, gradient, b.shape(matrix));
    return ops::reshape(b, summed, wanted);
  };
  ValueId gx;
  ValueId gy;
  if (c.needs[0]) {
    gx = attrs.transpose_a ? ops::matmul(b, y, g, attrs.transpose_b, true) : ops::matmul(b, g, y, false, !attrs.transpose_b);
    gx = fit(gx, x, shape_x);
  }
  if (c.needs[1]) {
    if (b.shape(y).rank() == 2 && b.shape(x).rank() > 2 && !attrs.transpose_a) {
      // one product over all rows, not a product per matrix and a sum
      x = as_rows(b, x);
      g = as_rows(b, g);
    }
    gy = attrs.transpose_b ? ops::matmul(b, g, x, true, attrs.transpose_a) : ops::matmul(b, x, g, !attrs.transpose_a, false);
    gy = fit(gy, y, shape_y);
  }
  return {gx, gy};
}

TensorTypes infer_accumulate(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 3, 3);
  const DType sum = inputs[0].dtype;
  require_types(sum == DType::float32 || sum == DType::float64, node, inputs, "the accumulator must be float32 or float64");
  require_types(is_floating(inputs[1].dtype) && inputs[1].dtype == inputs[2].dtype && statistic_dtype(inputs[1].dtype) == sum, node,
                inputs, "the factors must have one dtype that the accumulator holds");
  const auto& attrs = node.as<MatmulAttrs>();
  require_types(inputs[1].shape.rank() == 2 && inputs[2].shape.rank() == 2, node, inputs, "the factors must be matrices");
  const ProductShape shape = product_shape(node, inputs, inputs[1].shape, inputs[2].shape, attrs.transpose_a, attrs.transpose_b);
  require_types(shape.output == inputs[0].shape, node, inputs, "the accumulator must have the shape of the product");
  return {inputs[0]};
}

std::vector<ValueId> accumulate_vjp(VjpContext& c) {
  Builder& b = c.b;
  if (!c.gy().valid()) return {ValueId(), ValueId(), ValueId()};
  const auto attrs = c.node.as<MatmulAttrs>();
  const ValueId x = c.in(1);
  const ValueId y = c.in(2);
  const ValueId g = ops::cast(b, c.gy(), b.dtype(x));
  ValueId gx;
  ValueId gy;
  if (c.needs[1]) gx = attrs.transpose_a ? ops::matmul(b, y, g, attrs.transpose_b, true) : ops::matmul(b, g, y, false, !attrs.transpose_b);
  if (c.needs[2]) gy = attrs.transpose_b ? ops::matmul(b, g, x, true, attrs.transpose_a) : ops::matmul(b, x, g, !attrs.transpose_a, false);
  return {c.gy(), gx, gy};
}

TensorTypes infer_linear(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 2, 3);
  require_floating(node, inputs, inputs.size());
  const Shape& x = inputs[0].shape;
  const Shape& weight = inputs[1].shape;
  require_types(x.rank() >= 1, node, inputs, "the input must have at least one dimension");
  require_types(weight.rank() == 2, node, inputs, "the weight must be [out, in]");
  require_types(x.dim(x.rank() - 1) == weight.dim(1), node, inputs, "the input's last extent must be the weight's second");
  if (inputs.size() == 3) {
    require_types(inputs[2].shape.rank() == 1 && inputs[2].shape.dim(0) == weight.dim(0), node, inputs, "the bias must be [out]");
  }
  Shape output = without_last(x);
  output.append(weight.dim(0));
  return {with_shape(inputs[0], output)};
}

std::vector<ValueId> linear_vjp(VjpContext& c) {
  Builder& b = c.b;
  std::vector<ValueId> gradients(c.node.inputs.size());
  if (!c.gy().valid()) return gradients;
  const ValueId x = c.in(0);
  const ValueId weight = c.in(1);
  if (c.needs[0]) gradients[0] = ops::matmul(b, c.gy(), weight);
  const ValueId rows = as_rows(b, c.gy());
  if (c.needs[1]) gradients[1] = ops::matmul(b, rows, as_rows(b, x), true, false);
  if (gradients.size() == 3 && c.needs[2]) gradients[2] = ops::sum(b, rows, Ints{0});
  return gradients;
}

std::vector<ValueId> decompose_linear(Builder& b, const Node&, std::span<const ValueId> inputs) {
  const ValueId product = ops::matmul(b, inputs[0], inputs[1], false, true);
  return {inputs.size() == 3 ? ops::add(b, product, inputs[2]) : product};
}

Cost linear_cost(const Node&, TypeSpan inputs, TypeSpan outputs) {
  const double out = static_cast<double>(outputs[0].shape.numel());
  const double bias = inputs.size() == 3 ? out : 0;
  return streaming_cost(inputs, outputs, 2.0 * out * static_cast<double>(inputs[1].shape[1]) + bias);
}

SampleInput numbers(const Shape& shape, DType dtype = DType::float32) { return {TensorType{dtype, shape, Device::cpu}, -2, 2}; }

std::vector<OpSample> matmul_samples() {
  const auto sample = [](std::string name, Shape x, Shape y, bool transpose_x, bool transpose_y) {
    return OpSample{std::move(name), {numbers(x), numbers(y)}, MatmulAttrs{transpose_x, transpose_y}, {}};
  };
  std::vector<OpSample> samples = {
      sample("plain", {3, 5}, {5, 4}, false, false),
      sample("transpose_a", {5, 3}, {5, 4}, true, false),
      sample("transpose_b", {3, 5}, {4, 5}, false, true),
      sample("transpose_both", {5, 3}, {4, 5}, true, true),
      sample("batch", {2, 3, 5}, {2, 5, 4}, false, false),
      sample("batch_transposed", {2, 5, 3}, {2, 4, 5}, true, true),
      sample("broadcast_left", {2, 1, 3, 5}, {4, 5, 2}, false, false),
      sample("rows_by_matrix", {2, 3, 5}, {5, 4}, false, false),
      sample("rows_by_transposed", {2, 3, 5}, {4, 5}, false, true),
      sample("matrix_by_batch", {3, 5}, {2, 5, 4}, false, false),
      sample("vector_matrix", {5}, {5, 4}, false, false),
      sample("matrix_vector", {3, 5}, {5}, false, false),
      sample("batch_vector", {2, 3, 5}, {5}, false, false),
      sample("vector_batch", {5}, {2, 5, 3}, false, false),
      sample("dot", {5}, {5}, false, false),
      sample("empty_inner", {3, 0}, {0, 4}, false, false),
      sample("two_blocks", {2, 600}, {600, 2}, false, false),
  };
  samples.push_back({"bfloat16", {numbers({3, 7}, DType::bfloat16), numbers({7, 4}, DType::bfloat16)}, MatmulAttrs{}, {}, false});
  return samples;
}

std::vector<OpSample> accumulate_samples() {
  return {
      {"plain", {numbers({3, 4}), numbers({3, 5}), numbers({5, 4})}, MatmulAttrs{}, {}},
      {"weight_gradient", {numbers({3, 4}), numbers({5, 3}), numbers({5, 4})}, MatmulAttrs{true, false}, {}},
      {"bfloat16_factors", {numbers({3, 4}), numbers({3, 6}, DType::bfloat16), numbers({4, 6}, DType::bfloat16)}, MatmulAttrs{false, true},
       {}, false},
  };
}

std::vector<OpSample> linear_samples() {
  return {
      {"plain", {numbers({3, 5}), numbers({4, 5})}, NoAttrs{}, {}},
      {"bias", {numbers({3, 5}), numbers({4, 5}), numbers({4})}, NoAttrs{}, {}},
      {"three_dimensions", {numbers({2, 3, 5}), numbers({4, 5}), numbers({4})}, NoAttrs{}, {}},
      {"vector", {numbers({5}), numbers({4, 5}), numbers({4})}, NoAttrs{}, {}},
      {"empty_batch", {numbers({0, 5}), numbers({4, 5}), numbers({4})}, NoAttrs{}, {}},
      {"bfloat16", {numbers({3, 5}, DType::bfloat16), numbers({4, 5}, DType::bfloat16), numbers({4}, DType::bfloat16)}, NoAttrs{}, {},
       false},
  };
}

}  // namespace

std::vector<OpRow> matmul_rows() {
  std::vector<OpRow> rows;
  rows.push_back({.opcode = op::matmul,
                  .traits = Trait::matmul,
                  .infer = infer_matmul,
                  .vjp = matmul_vjp,
                  .decompose = {},
                  .evaluate = evaluate_matmul,
                  .cost = [](const Node& node, TypeSpan inputs, TypeSpan outputs) { return product_cost(node, inputs, outputs, 0); },
                  .layout = {},
                  .samples = matmul_samples});
  rows.push_back({.opcode = op::matmul_accumulate,
                  .traits = Trait::matmul | Trait::in_place_twin,
                  .infer = infer_accumulate,
                  .vjp = accumulate_vjp,
                  .decompose = {},
                  .evaluate = evaluate_matmul_accumulate,
                  .cost = [](const Node& node, TypeSpan inputs, TypeSpan outputs) { return product_cost(node, inputs, outputs, 1); },
                  .layout = {},
                  .samples = accumulate_samples});
  rows.push_back({.opcode = op::linear,
                  .traits = Trait::matmul | Trait::composite,
                  .infer = infer_linear,
                  .vjp = linear_vjp,
                  .decompose = decompose_linear,
                  .evaluate = evaluate_linear,
                  .cost = linear_cost,
                  .layout = {},
                  .samples = linear_samples});
  return rows;
}

}  // namespace reprise
