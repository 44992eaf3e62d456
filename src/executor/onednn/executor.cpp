// SPDX-License-Identifier: Apache-2.0
#include "executor/onednn/executor.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "executor/onednn/gemm.h"

namespace reprise {
namespace {

/// A product of one or several matrices, with the sizes and strides that do not change between runs.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  GemmOperand a;  // data null
  GemmOperand b;
  std::size_t batch_rank = 0;
  std::array<std::int64_t, Shape::kMaxRank> batch_shape{};
  std::array<std::int64_t, Shape::kMaxRank> batch_strides_a{};
  std::array<std::int64_t, Shape::kMaxRank> batch_strides_b{};
};

/// How oneDNN sees a [rows, columns] matrix with these strides, one of which is 1 (or has an extent of 1 or 0).
GemmOperand operand(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  if (columns <= 1 || column_stride == 1) {
    if (rows <= 1) return {nullptr, std::max<std::int64_t>(columns, 1), false};
    if (column_stride == 1 || row_stride >= columns) return {nullptr, std::max(row_stride, std::max<std::int64_t>(columns, 1)), false};
  }
  return {nullptr, columns <= 1 ? std::max<std::int64_t>(rows, 1) : column_stride, true};
}

/// The last two dimensions of `view` as an operand, transposed by the node if `transposed`.
GemmOperand matrix_operand(const TensorView& view, bool transposed) {
  const Shape& shape = view.type->shape;
  const std::size_t rank = shape.rank();
  std::int64_t rows = shape[rank - 2];
  std::int64_t columns = shape[rank - 1];
  std::int64_t row_stride = view.strides[rank - 2];
  std::int64_t column_stride = view.strides[rank - 1];
  if (transposed) {
    std::swap(rows, columns);
    std::swap(row_stride, column_stride);
  }
  return operand(rows, columns, row_stride, column_stride);
}

void set_batch(Product& product, const Shape& out, const TensorView& view, std::array<std::int64_t, Shape::kMaxRank>& strides) {
  const std::size_t missing = out.rank() - view.type->shape.rank();
  for (std::size_t i = 0; i < product.batch_rank; ++i) {
    strides[i] = i < missing || view.type->shape[i - missing] == 1 ? 0 : view.strides[i - missing];
  }
}

Product matmul_product(const BindRequest& request, std::size_t first_input) {
  const auto& attrs = request.node.as<MatmulAttrs>();
  const TensorView& a = request.inputs[first_input];
  const TensorView& b = request.inputs[first_input + 1];
  const Shape& out = request.outputs[0].type->shape;
  Product product;
  product.m = out[out.rank() - 2];
  product.n = out[out.rank() - 1];
  product.k = a.type->shape[a.type->shape.rank() - (attrs.transpose_a ? 2 : 1)];
  product.a = matrix_operand(a, attrs.transpose_a);
  product.b = matrix_operand(b, attrs.transpose_b);
  product.batch_rank = out.rank() - 2;
  for (std::size_t i = 0; i < product.batch_rank; ++i) {
    product.batch_shape[i] = out[i];
    product.batch *= out[i];
  }
  set_batch(product, out, a, product.batch_strides_a);
  set_batch(product, out, b, product.batch_strides_b);
  return product;
}

/// x [..., in] times weight [out, in] transposed; x has its rows one stride apart.
Product linear_product(const BindRequest& request) {
  const TensorView& x = request.inputs[0];
  const Shape& shape = x.type->shape;
  const Shape& weight = request.inputs[1].type->shape;
  Product product;
  product.k = weight[1];
  product.n = weight[0];
  product.m = 1;
  for (std::size_t i = 0; i + 1 < shape.rank(); ++i) product.m *= shape[i];
  product.a = shape.rank() == 2 ? matrix_operand(x, false) : operand(product.m, product.k, product.k, 1);
  product.b = matrix_operand(request.inputs[1], true);
  return product;
}

GemmCall gemm_call(const Product& product, std::int64_t index, const float* a, const float* b, float* c) {
  std::int64_t offset_a = 0;
  std::int64_t offset_b = 0;
  std::int64_t rest = index;
  for (std::size_t i = product.batch_rank; i-- > 0;) {
    const std::int64_t at = rest % product.batch_shape[i];
    rest /= product.batch_shape[i];
    offset_a += at * product.batch_strides_a[i];
    offset_b += at * product.batch_strides_b[i];
  }
  GemmCall call;
  call.m = product.m;
  call.n = product.n;
  call.k = product.k;
  call.a = product.a;
  call.a.data = a + offset_a;
  call.b = product.b;
  call.b.data = b + offset_b;
  call.c = c + index * product.m * product.n;
  call.stride = product.n;
  return call;
}

bool all_float32(std::span<const TensorType> types) {
  return std::all_of(types.begin(), types.end(), [](const TensorType& type) { return type.dtype == DType::float32; });
}

std::int64_t library_bytes(const ClaimRequest& request, std::int64_t m, std::int64_t n, std::int64_t k) {
  return gemm_library_bytes(m, n, k) * request.threads;
}

class OnednnExecutor final : public Executor {
 public:
  std::string_view name() const override { return "onednn"; }

  std::optional<Claim> claim(const ClaimRequest& request) const override {
    if (!all_float32(request.inputs) || !all_float32(request.outputs)) return std::nullopt;
    const Opcode opcode = request.node.opcode;
    Claim claim;
    if (opcode == op::linear) {
      const Shape& x = request.inputs[0].shape;
      const Shape& weight = request.inputs[1].shape;
      claim.layouts = {x.rank() == 2 ? InputLayout::matrices : InputLayout::dense, InputLayout::matrices};
      if (request.inputs.size() == 3) claim.layouts.push_back(InputLayout::dense);
      const std::int64_t rows = weight[1] == 0 ? 0 : x.numel() / weight[1];
      claim.library_bytes = library_bytes(request, rows, weight[0], weight[1]);
      return claim;
    }
    if (opcode != op::matmul && opcode != op::matmul_accumulate) return std::nullopt;
    const std::size_t first = opcode == op::matmul ? 0 : 1;
    const Shape& a = request.inputs[first].shape;
    const Shape& b = request.inputs[first + 1].shape;
    if (a.rank() < 2 || b.rank() < 2) return std::nullopt;
    claim.layouts.assign(first, InputLayout::dense);
    claim.layouts.push_back(InputLayout::matrices);
    claim.layouts.push_back(InputLayout::matrices);
    if (first == 1) claim.in_place = {{0, 0}};
    const Shape& out = request.outputs[0].shape;
    const std::int64_t k = a[a.rank() - (request.node.as<MatmulAttrs>().transpose_a ? 2 : 1)];
    claim.library_bytes = library_bytes(request, out[out.rank() - 2], out[out.rank() - 1], k);
    return claim;
  }

  Kernel bind(const BindRequest& request) const override {
    const Opcode opcode = request.node.opcode;
    if (opcode == op::linear) {
      const Product product = linear_product(request);
      const bool bias = request.inputs.size() == 3;
      return [product, bias](const KernelCall& call) {
        run_gemms(call.pool, 1, [&](std::int64_t) {
          GemmCall gemm = gemm_call(product, 0, call.inputs[0].as<float>(), call.inputs[1].as<float>(), call.outputs[0].as<float>());
          if (bias) gemm.bias = call.inputs[2].as<float>();
          return gemm;
        });
      };
    }
    if (opcode == op::matmul) {
      const Product product = matmul_product(request, 0);
      return [product](const KernelCall& call) {
        run_gemms(call.pool, product.batch, [&](std::int64_t i) {
          return gemm_call(product, i, call.inputs[0].as<float>(), call.inputs[1].as<float>(), call.outputs[0].as<float>());
        });
      };
    }
    REPRISE_CHECK(opcode == op::matmul_accumulate, "onednn binds what it claims");
    const Product product = matmul_product(request, 1);
    return [product](const KernelCall& call) {
      auto* const c = call.outputs[0].as<float>();
      const auto* const before = call.inputs[0].as<float>();
      const std::int64_t count = product.m * product.n;
      if (before != c) std::copy(before, before + count, c);
      run_gemms(call.pool, 1, [&](std::int64_t) {
        GemmCall gemm = gemm_call(product, 0, call.inputs[1].as<float>(), call.inputs[2].as<float>(), c);
        gemm.accumulate = true;
        return gemm;
      });
    };
  }
};

}  // namespace

const Executor& onednn_executor() {
  static const OnednnExecutor executor;
  return executor;
}

}  // namespace reprise
