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

/// A strip of a bfloat16 product: the float32 sums of so many rows and columns are made and rounded before the next. The columns are
/// enough for packing a block of A again to cost next to nothing.
struct Strip {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

template <class E, class T>
Strip strip_of(const ProductTable<E, T>& table, ProductBlocks blocks) {
  constexpr std::size_t kColumns = 2048;
  const auto up = [](std::size_t x, std::size_t to) { return (x + to - 1) / to * to; };
  return {up(blocks.rows, table.tile_rows), up(kColumns, table.tile_columns)};
}

/// Rows [row_begin, row_end) and columns [column_begin, column_end) of one matrix of a batch.
struct Part {
  std::int64_t entry, row_begin, row_end, column_begin, column_end;
};

/// Calls work(part, thread) so that the parts make up the product. The longer side of each matrix is split over the threads in whole tiles.
template <class E, class T, class Work>
void split_product(const ProductTable<E, T>& table, const Product& product, ThreadPool& pool, Work&& work) {
  const bool by_rows = product.m >= product.n;
  const std::int64_t extent = by_rows ? product.m : product.n;
  const auto tile = static_cast<std::int64_t>(by_rows ? table.tile_rows : table.tile_columns);
  const std::int64_t tiles = (extent + tile - 1) / tile;
  pool.parallel_for(static_cast<std::size_t>(product.batches * tiles), [&](std::size_t begin, std::size_t end, int thread) {
    for (auto item = static_cast<std::int64_t>(begin); item < static_cast<std::int64_t>(end);) {
      const std::int64_t entry = item / tiles;
      const std::int64_t stop = std::min(static_cast<std::int64_t>(end), (entry + 1) * tiles);
      const std::int64_t from = (item - entry * tiles) * tile;
      const std::int64_t to = std::min(extent, (stop - entry * tiles) * tile);
      if (by_rows) work(Part{entry, from, to, 0, product.n}, thread);
      else work(Part{entry, 0, product.m, from, to}, thread);
      item = stop;
    }
  });
}

/// Multiplies `part` into c, whose first element is the part's.
template <class E, class T>
void multiply_part(const ProductTable<E, T>& table, const Product& product, const Part& part, const E* a, const E* b, T* c,
                   std::int64_t c_stride, T* scratch) {
  const auto at = product.batch.offsets(part.entry, product.batch.rank);
  table.multiply({a + at[1] + part.row_begin * product.row_a, product.row_a, product.column_a},
                 {b + at[2] + part.column_begin * product.column_b, product.row_b, product.column_b}, {c, c_stride, 1},
                 static_cast<std::size_t>(product.k), 0, static_cast<std::size_t>(part.row_end - part.row_begin), 0,
                 static_cast<std::size_t>(part.column_end - part.column_begin), product.accumulate, product.blocks, scratch);
}

/// Multiplies into c, dense matrices [m, n] of T.
template <class E, class T>
void run_product(const ProductTable<E, T>& table, const Product& product, ThreadPool& pool, const E* a, const E* b, T* c,
                 std::byte* workspace) {
  const std::size_t bytes = thread_bytes(table, product.blocks);
  split_product(table, product, pool, [&](const Part& part, int thread) {
    auto* const scratch = reinterpret_cast<T*>(workspace + static_cast<std::size_t>(thread) * bytes);
    T* const to = c + (part.entry * product.m + part.row_begin) * product.n + part.column_begin;
    multiply_part(table, product, part, a, b, to, product.n, scratch);
  });
}

/// out = rounded(product + bias), dense matrices [m, n] of E, strip by strip.
template <class E, class T>
void run_rounded_product(const ProductTable<E, T>& table, const Product& product, ThreadPool& pool, const E* a, const E* b, const E* bias,
                         E* out, std::byte* workspace, std::size_t workspace_of_thread) {
  const Strip strip = strip_of(table, product.blocks);
  const std::size_t packing = thread_bytes(table, product.blocks);
  const auto round_part = [&](const Part& part, const T* sums, std::int64_t width) {
    for (std::int64_t row = part.row_begin; row < part.row_end; ++row) {
      const T* const from = sums + (row - part.row_begin) * width;
      E* const to = out + (part.entry * product.m + row) * product.n + part.column_begin;
      const E* const add = bias == nullptr ? nullptr : bias + part.column_begin;
      for (std::int64_t j = 0; j < width; ++j) attention::narrow(to[j], add == nullptr ? from[j] : from[j] + attention::widen(add[j]));
    }
  };
  split_product(table, product, pool, [&](const Part& all, int thread) {
    std::byte* const own = workspace + static_cast<std::size_t>(thread) * workspace_of_thread;
    auto* const sums = reinterpret_cast<T*>(own + packing);
    Part part = all;
    for (part.row_begin = all.row_begin; part.row_begin < all.row_end; part.row_begin = part.row_end) {
      part.row_end = std::min(all.row_end, part.row_begin + static_cast<std::int64_t>(strip.rows));
      for (part.column_begin = all.column_begin; part.column_begin < all.column_end; part.column_begin = part.column_end) {
        part.column_end = std::min(all.column_end, part.column_begin + static_cast<std::int64_t>(strip.columns));
        const std::int64_t width = part.column_end - part.column_begin;
        multiply_part(table, product, part, a, b, sums, width, reinterpret_cast<T*>(own));
        round_part(part, sums, width);
      }
    }
  });
}

/// out += bias, row by row.
template <class E>
void add_bias(ThreadPool& pool, const E* bias, E* out, std::int64_t rows, std::int64_t n) {
  pool.parallel_for(static_cast<std::size_t>(rows), [&](std::size_t begin, std::size_t end, int) {
    for (auto row = static_cast<std::int64_t>(begin); row < static_cast<std::int64_t>(end); ++row) {
      for (std::int64_t j = 0; j < n; ++j) out[row * n + j] += bias[j];
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

/// A thread's packing space, and for bfloat16 results the float32 sums of a strip.
template <class E, class T>
std::size_t thread_workspace(const ProductTable<E, T>& table, ProductBlocks blocks, const TensorType& result) {
  const std::size_t packing = thread_bytes(table, blocks);
  if (result.dtype != DType::bfloat16) return packing;
  const Strip strip = strip_of(table, blocks);
  const std::size_t sums = std::min(strip.rows * strip.columns, static_cast<std::size_t>(result.shape.numel()));
  return packing + (sums * sizeof(T) + 63) / 64 * 64;
}

std::int64_t workspace_bytes(const ClaimRequest& request, DType factors) {
  const std::size_t one = with_product_table(factors, kernels_for(request.target.isa), [&](const auto& table) {
    return thread_workspace(table, blocks_for(request.target, factors), request.outputs[0]);
  });
  return static_cast<std::int64_t>(one) * request.threads;
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
Kernel product_kernel(const ProductTable<E, T>& table, const Product& product, std::size_t first) {
  return [&table, product, first](const KernelCall& call) {
    const auto* const a = call.inputs[first].as<const E>();
    const auto* const b = call.inputs[first + 1].as<const E>();
    const std::int64_t rows = product.batches * product.m;
    if (product.accumulate) {
      auto* const c = call.outputs[0].as<T>();
      if (call.inputs[0].data != call.outputs[0].data) {
        std::memcpy(c, call.inputs[0].data, static_cast<std::size_t>(rows * product.n) * sizeof(T));
      }
      return run_product(table, product, call.pool, a, b, c, call.workspace.data());
    }
    auto* const out = call.outputs[0].as<E>();
    const auto* const bias = product.bias ? call.inputs[first + 2].as<const E>() : nullptr;
    if constexpr (std::is_same_v<E, T>) {
      run_product(table, product, call.pool, a, b, out, call.workspace.data());
      if (bias != nullptr) add_bias(call.pool, bias, out, rows, product.n);
    } else {
      const std::size_t own = thread_workspace(table, product.blocks, *call.outputs[0].type);
      run_rounded_product(table, product, call.pool, a, b, bias, out, call.workspace.data(), own);
    }
  };
}

Kernel bind_product(const BindRequest& request, const Kernels& kernels, const Product& product, std::size_t first) {
  return with_product_table(request.inputs[first].type->dtype, kernels,
                            [&](const auto& table) { return product_kernel(table, product, first); });
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
