// SPDX-License-Identifier: Apache-2.0
// Matrix products in the contract's order: for every layout and dtype, and the only executor whose products are row-stable.
#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "executor/loops/registry.h"
#include "executor/loops/walk.h"

namespace reprise::loops {
namespace {

/// Packed rows of A fill three quarters of the second-level cache.
ProductBlocks blocks_for(const Target& target, DType dtype) {
  const std::size_t row_bytes = reduction::kProductBlock * (dtype == DType::float64 ? 8 : 4);
  return {std::clamp<std::size_t>(target.l2_bytes * 3 / 4 / row_bytes / 8 * 8, 64, 512)};
}

/// A product, or a batch of them, but for the addresses.
struct Product {
  std::int64_t m = 1, n = 1, k = 0;
  std::int64_t row_a = 0, column_a = 0;  // strides
  std::int64_t row_b = 0, column_b = 0;
  Walk batch;  // over the output's leading dimensions: operands 1 and 2 are a and b; the output's stride counts matrices
  std::int64_t batches = 1;
  ProductBlocks blocks;
  bool accumulate = false;
  bool bias = false;
};

/// Leading dimensions of an operand, all but the last two.
Shape lead_of(const Shape& shape) {
  Shape lead;
  for (std::size_t d = 0; d + 2 < shape.rank(); ++d) lead.append(shape[d]);
  return lead;
}

void set_matrix(const TensorView& view, bool transposed, bool left, std::int64_t& rows, std::int64_t& columns, std::int64_t& row_stride,
                std::int64_t& column_stride) {
  const Shape& shape = view.type->shape;
  const std::size_t rank = shape.rank();
  if (rank == 1) {
    rows = left ? 1 : shape[0];
    columns = left ? shape[0] : 1;
    row_stride = left ? 0 : view.strides[0];
    column_stride = left ? view.strides[0] : 0;
    return;
  }
  rows = shape[rank - 2];
  columns = shape[rank - 1];
  row_stride = view.strides[rank - 2];
  column_stride = view.strides[rank - 1];
  if (transposed) {
    std::swap(rows, columns);
    std::swap(row_stride, column_stride);
  }
}

Product matmul_product(const BindRequest& request, std::size_t first) {
  const auto& attrs = request.node.as<MatmulAttrs>();
  const TensorView& a = request.inputs[first];
  const TensorView& b = request.inputs[first + 1];
  Product product;
  std::int64_t k_of_b = 0;
  set_matrix(a, attrs.transpose_a, true, product.m, product.k, product.row_a, product.column_a);
  set_matrix(b, attrs.transpose_b, false, k_of_b, product.n, product.row_b, product.column_b);
  const Shape lead_a = lead_of(a.type->shape);
  const Shape lead_b = lead_of(b.type->shape);
  const Shape lead = broadcast_shapes(lead_a, lead_b);
  const StridedShape leads[2] = {{&lead_a, a.strides.first(lead_a.rank())}, {&lead_b, b.strides.first(lead_b.rank())}};
  product.batch = make_walk(lead, leads);
  product.batches = lead.numel();
  product.blocks = blocks_for(request.target, a.type->dtype);
  return product;
}

Product linear_product(const BindRequest& request) {
  const TensorView& x = request.inputs[0];
  const Shape& weight = request.inputs[1].type->shape;
  Product product;
  product.n = weight[0];
  product.k = weight[1];
  const std::size_t rank = x.type->shape.rank();
  product.m = 1;
  for (std::size_t d = 0; d + 1 < rank; ++d) product.m *= x.type->shape[d];
  product.row_a = rank == 2 ? x.strides[0] : product.k;
  product.column_a = rank == 2 ? x.strides[1] : 1;
  product.row_b = request.inputs[1].strides[1];
  product.column_b = request.inputs[1].strides[0];
  product.batch = make_walk(Shape{}, {});
  product.bias = request.inputs.size() == 3;
  product.blocks = blocks_for(request.target, x.type->dtype);
  return product;
}

/// Bytes of a thread's packing workspace.
template <class E, class T>
std::size_t thread_bytes(const ProductTable<E, T>& table, ProductBlocks blocks) {
  return (table.workspace(blocks) * sizeof(T) + 63) / 64 * 64;
}

/// Multiplies batch entries into c (dense matrices [m, n] of T). The longer side of each is split over the threads in whole tiles.
template <class E, class T>
void run_product(const ProductTable<E, T>& table, const Product& product, ThreadPool& pool, const E* a, const E* b, T* c, std::byte* workspace) {
  const bool by_rows = product.m >= product.n;
  const std::int64_t extent = by_rows ? product.m : product.n;
  const auto tile = static_cast<std::int64_t>(by_rows ? table.tile_rows : table.tile_columns);
  const std::int64_t tiles = (extent + tile - 1) / tile;
  const std::size_t bytes = thread_bytes(table, product.blocks);
  pool.parallel_for(static_cast<std::size_t>(product.batches * tiles), [&](std::size_t begin, std::size_t end, int thread) {
    auto* const scratch = reinterpret_cast<T*>(workspace + static_cast<std::size_t>(thread) * bytes);
    for (auto item = static_cast<std::int64_t>(begin); item < static_cast<std::int64_t>(end);) {
      const std::int64_t entry = item / tiles;
      const std::int64_t stop = std::min(static_cast<std::int64_t>(end), (entry + 1) * tiles);
      const auto from = static_cast<std::size_t>((item - entry * tiles) * tile);
      const auto to = static_cast<std::size_t>(std::min(extent, (stop - entry * tiles) * tile));
      const auto at = product.batch.offsets(entry, product.batch.rank);
      table.multiply({a + at[1], product.row_a, product.column_a}, {b + at[2], product.row_b, product.column_b},
                     {c + entry * product.m * product.n, product.n, 1}, static_cast<std::size_t>(product.k), by_rows ? from : 0,
                     by_rows ? to : static_cast<std::size_t>(product.m), by_rows ? 0 : from, by_rows ? static_cast<std::size_t>(product.n) : to,
                     product.accumulate, product.blocks, scratch);
      item = stop;
    }
  });
}

/// out = rounded(sums + bias), row by row; where out is the sums themselves only the bias is added.
template <class E, class T>
void finish_rows(ThreadPool& pool, const T* sums, const E* bias, E* out, std::int64_t rows, std::int64_t n) {
  pool.parallel_for(static_cast<std::size_t>(rows), [&](std::size_t begin, std::size_t end, int) {
    for (auto row = static_cast<std::int64_t>(begin); row < static_cast<std::int64_t>(end); ++row) {
      const T* const from = sums + row * n;
      E* const to = out + row * n;
      if (bias != nullptr) {
        for (std::int64_t j = 0; j < n; ++j) attention::narrow(to[j], from[j] + attention::widen(bias[j]));
      } else {
        for (std::int64_t j = 0; j < n; ++j) attention::narrow(to[j], from[j]);
      }
    }
  });
}

template <class F>
auto with_product_table(DType dtype, const Kernels& kernels, F&& f) {
  switch (dtype) {
    case DType::float64: return f(kernels.product_f64);
    case DType::bfloat16: return f(kernels.product_bf16);
    default: return f(kernels.product_f32);
  }
}

/// Packing space of every thread, and for bfloat16 results the float32 sums before they are rounded.
std::int64_t workspace_bytes(const ClaimRequest& request, DType factors) {
  const Kernels& kernels = kernels_for(request.target.isa);
  const std::size_t packing = with_product_table(
      factors, kernels, [&](const auto& table) { return thread_bytes(table, blocks_for(request.target, factors)); });
  const std::int64_t sums = request.outputs[0].dtype == DType::bfloat16 ? 4 * request.outputs[0].shape.numel() : 0;
  return static_cast<std::int64_t>(packing) * request.threads + sums;
}

std::optional<Claim> claim_matmul(const ClaimRequest& request) {
  const std::size_t first = request.node.opcode == op::matmul ? 0 : 1;
  const DType dtype = request.inputs[first].dtype;
  if (!is_computed(dtype) || request.inputs[first + 1].dtype != dtype) return std::nullopt;
  Claim claim;
  claim.layouts.assign(first, InputLayout::dense);
  claim.layouts.push_back(InputLayout::any);
  claim.layouts.push_back(InputLayout::any);
  if (first == 1) claim.in_place = {{0, 0}};
  claim.workspace_bytes = workspace_bytes(request, dtype);
  return claim;
}

std::optional<Claim> claim_linear(const ClaimRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  for (const TensorType& input : request.inputs) {
    if (!is_computed(dtype) || input.dtype != dtype) return std::nullopt;
  }
  Claim claim;
  claim.layouts = {request.inputs[0].shape.rank() == 2 ? InputLayout::any : InputLayout::dense, InputLayout::any};
  if (request.inputs.size() == 3) claim.layouts.push_back(InputLayout::dense);
  claim.workspace_bytes = workspace_bytes(request, dtype);
  return claim;
}

template <class E, class T>
Kernel product_kernel(const ProductTable<E, T>& table, const Product& product, std::size_t first, int threads) {
  return [&table, product, first, threads](const KernelCall& call) {
    const auto* const a = call.inputs[first].as<const E>();
    const auto* const b = call.inputs[first + 1].as<const E>();
    const std::size_t packing = thread_bytes(table, product.blocks) * static_cast<std::size_t>(threads);
    const std::int64_t rows = product.batches * product.m;
    if (product.accumulate) {
      auto* const c = call.outputs[0].as<T>();
      if (call.inputs[0].data != call.outputs[0].data) std::memcpy(c, call.inputs[0].data, static_cast<std::size_t>(rows * product.n) * sizeof(T));
      return run_product(table, product, call.pool, a, b, c, call.workspace.data());
    }
    auto* const out = call.outputs[0].as<E>();
    const auto* const bias = product.bias ? call.inputs[first + 2].as<const E>() : nullptr;
    if constexpr (std::is_same_v<E, T>) {
      run_product(table, product, call.pool, a, b, out, call.workspace.data());
      if (bias != nullptr) finish_rows<E, T>(call.pool, out, bias, out, rows, product.n);
    } else {
      auto* const sums = reinterpret_cast<T*>(call.workspace.data() + packing);
      run_product(table, product, call.pool, a, b, sums, call.workspace.data());
      finish_rows<E, T>(call.pool, sums, bias, out, rows, product.n);
    }
  };
}

Kernel bind_product(const BindRequest& request, const Kernels& kernels, const Product& product, std::size_t first) {
  return with_product_table(request.inputs[first].type->dtype, kernels,
                            [&](const auto& table) { return product_kernel(table, product, first, request.threads); });
}

Kernel bind_matmul(const BindRequest& request, const Kernels& kernels) {
  return bind_product(request, kernels, matmul_product(request, 0), 0);
}

Kernel bind_accumulate(const BindRequest& request, const Kernels& kernels) {
  Product product = matmul_product(request, 1);
  product.accumulate = true;
  return bind_product(request, kernels, product, 1);
}

Kernel bind_linear(const BindRequest& request, const Kernels& kernels) {
  return bind_product(request, kernels, linear_product(request), 0);
}

}  // namespace

void register_products(Registry& registry) {
  registry.add(op::matmul, {claim_matmul, bind_matmul});
  registry.add(op::matmul_accumulate, {claim_matmul, bind_accumulate});
  registry.add(op::linear, {claim_linear, bind_linear});
}

}  // namespace reprise::loops
