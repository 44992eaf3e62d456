// SPDX-License-Identifier: Apache-2.0
#include "ops/product_eval.h"

#include <algorithm>

#include "base/reduction.h"
#include "ops/strided_walk.h"
#include "ops/type_check.h"

namespace reprise {
namespace {

/// A matrix in a flat array: element (i, j) is data[i * row + j * column].
template <class C>
struct Matrix {
  const C* data;
  std::size_t row, column;
};

template <class C>
Matrix<C> matrix(const C* data, std::int64_t rows, std::int64_t columns, bool transposed) {
  // rows and columns of the operand as used, after a transpose
  return transposed ? Matrix<C>{data, 1, static_cast<std::size_t>(rows)} : Matrix<C>{data, static_cast<std::size_t>(columns), 1};
}

/// One element of the product, by the rule of the factors' dtype.
template <class C>
C product(std::size_t k, bool bfloat, const C* a, std::size_t step_a, const C* b, std::size_t step_b) {
  const auto load_a = [&](std::size_t i) { return a[i * step_a]; };
  const auto load_b = [&](std::size_t i) { return b[i * step_b]; };
  if constexpr (std::is_same_v<C, float>) {
    if (bfloat) return reduction::product_element_bfloat16(k, load_a, load_b);
  }
  return reduction::product_element<C>(k, load_a, load_b);
}

template <class C>
C product_onto(C c, std::size_t k, bool bfloat, const C* a, std::size_t step_a, const C* b, std::size_t step_b) {
  if constexpr (std::is_same_v<C, float>) {
    if (bfloat) {
      for (std::size_t begin = 0; begin < k; begin += reduction::kProductBlock) {
        const std::size_t size = std::min(reduction::kProductBlock, k - begin);
        c += product<C>(size, true, a + begin * step_a, step_a, b + begin * step_b, step_b);
      }
      return c;
    }
  }
  return reduction::product_element_onto<C>(
      c, k, [&](std::size_t i) { return a[i * step_a]; }, [&](std::size_t i) { return b[i * step_b]; });
}

/// out[i, j] = each(product of row i of a and column j of b, place in out)
template <class C, class Each>
void multiply(std::size_t m, std::size_t n, std::size_t k, bool bfloat, Matrix<C> a, Matrix<C> b, C* out, Each&& each) {
  if (k == 0) a.row = b.column = 0;  // no element to walk to
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out[i * n + j] = each(product<C>(k, bfloat, a.data + i * a.row, a.column, b.data + j * b.column, b.row), j);
    }
  }
}

/// The extents of an operand as a matrix: rows and columns as used, and the leading dimensions.
struct Operand {
  std::int64_t rows, columns;
  Shape lead;
};

Operand operand(const Shape& shape, bool transposed, bool is_left) {
  const std::size_t rank = shape.rank();
  if (rank == 1) return is_left ? Operand{1, shape[0], {}} : Operand{shape[0], 1, {}};
  Operand result{shape[rank - 2], shape[rank - 1], without_last(shape, 2)};
  if (transposed) std::swap(result.rows, result.columns);
  return result;
}

}  // namespace

void evaluate_matmul(EvalContext& context) {
  const auto& attrs = context.node().as<MatmulAttrs>();
  const Operand left = operand(context.in_type(0).shape, attrs.transpose_a, true);
  const Operand right = operand(context.in_type(1).shape, attrs.transpose_b, false);
  const Shape lead = broadcast_shapes(left.lead, right.lead);
  const std::vector<std::int64_t> at_left = broadcast_offsets(left.lead, lead);
  const std::vector<std::int64_t> at_right = broadcast_offsets(right.lead, lead);
  const auto m = static_cast<std::size_t>(left.rows);
  const auto n = static_cast<std::size_t>(right.columns);
  const auto k = static_cast<std::size_t>(left.columns);
  const bool bfloat = context.in_type(0).dtype == DType::bfloat16;
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> a = context.load<C>(0);
    const std::vector<C> b = context.load<C>(1);
    std::vector<C> out(static_cast<std::size_t>(context.out_type().shape.numel()));
    for (std::size_t batch = 0; batch < at_left.size(); ++batch) {
      const C* const first_a = a.data() + static_cast<std::size_t>(at_left[batch]) * m * k;
      const C* const first_b = b.data() + static_cast<std::size_t>(at_right[batch]) * k * n;
      multiply<C>(m, n, k, bfloat, matrix(first_a, left.rows, left.columns, attrs.transpose_a),
                  matrix(first_b, right.rows, right.columns, attrs.transpose_b), out.data() + batch * m * n,
                  [](C value, std::size_t) { return value; });
    }
    context.store<C>(0, out);
  });
}

void evaluate_matmul_accumulate(EvalContext& context) {
  const auto& attrs = context.node().as<MatmulAttrs>();
  const Operand left = operand(context.in_type(1).shape, attrs.transpose_a, true);
  const Operand right = operand(context.in_type(2).shape, attrs.transpose_b, false);
  const bool bfloat = context.in_type(1).dtype == DType::bfloat16;
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> sums = context.load<C>(0);
    const std::vector<C> left_data = context.load<C>(1);
    const std::vector<C> right_data = context.load<C>(2);
    const Matrix<C> a = matrix(left_data.data(), left.rows, left.columns, attrs.transpose_a);
    const Matrix<C> b = matrix(right_data.data(), right.rows, right.columns, attrs.transpose_b);
    const auto n = static_cast<std::size_t>(right.columns);
    if (left.columns == 0) return context.store<C>(0, sums);
    for (std::size_t e = 0; e < sums.size(); ++e) {
      sums[e] = product_onto<C>(sums[e], static_cast<std::size_t>(left.columns), bfloat, a.data + e / n * a.row, a.column,
                                b.data + e % n * b.column, b.row);
    }
    context.store<C>(0, sums);
  });
}

void evaluate_linear(EvalContext& context) {
  const Shape& weight = context.in_type(1).shape;
  const bool bfloat = context.in_type(0).dtype == DType::bfloat16;
  const auto n = static_cast<std::size_t>(weight[0]);
  const auto k = static_cast<std::size_t>(weight[1]);
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = context.load<C>(0);
    const std::vector<C> w = context.load<C>(1);
    const std::vector<C> bias = context.input_count() == 3 ? context.load<C>(2) : std::vector<C>();
    std::vector<C> out(static_cast<std::size_t>(context.out_type().shape.numel()));
    const std::size_t m = n == 0 ? 0 : out.size() / n;
    multiply<C>(m, n, k, bfloat, {x.data(), k, 1}, {w.data(), 1, k}, out.data(),
                [&](C value, std::size_t j) { return bias.empty() ? value : value + bias[j]; });
    context.store<C>(0, out);
  });
}

}  // namespace reprise
