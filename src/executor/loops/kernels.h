// SPDX-License-Identifier: Apache-2.0
// The compiled kernels, as tables of function pointers: one set per instruction set, all with the same bits. Kernels work on plain dense
// arrays and on index ranges, so that the drivers beside this file can split them over threads in any way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/attention_formula.h"
#include "base/dtype.h"
#include "base/row_formulas.h"
#include "base/adamw_formula.h"
#include "base/target.h"

namespace reprise::loops {

enum class Unary : std::uint8_t {
  neg, abs, sign, floor, round, square, sqrt, rsqrt, reciprocal, exp, exp2, expm1, log, log2, log1p, sin, cos, tanh, erf, sigmoid,
  logsigmoid, softplus, relu, squared_relu, silu, gelu, gelu_tanh, softcap, add_scalar, mul_scalar, div_scalar, pow_scalar, clamp, copy,
  count
};
enum class Binary : std::uint8_t {
  add, sub, mul, div, pow, fmod, maximum, minimum, silu_backward, gelu_backward, gelu_tanh_backward, lerp, count
};
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge, logical_and, logical_or, count };

/// Pointwise kernels over dense arrays of T: float, double, std::int64_t (entries without a meaning for T are null). The output may be one
/// of the inputs. `params` is read by the ops that have attributes: softcap (cap), *_scalar and lerp (number), clamp (low, high).
template <class T>
struct PointwiseTable {
  using UnaryKernel = void (*)(const T* x, T* y, std::size_t n, const T* params);
  using BinaryKernel = void (*)(const T* a, const T* b, T* y, std::size_t n, const T* params);
  using CompareKernel = void (*)(const T* a, const T* b, std::uint8_t* y, std::size_t n);
  UnaryKernel unary[static_cast<std::size_t>(Unary::count)] = {};
  BinaryKernel binary[static_cast<std::size_t>(Binary::count)] = {};
  CompareKernel compare[static_cast<std::size_t>(Compare::count)] = {};
  /// y = condition ? a : b
  void (*where)(const std::uint8_t* condition, const T* a, const T* b, T* y, std::size_t n) = nullptr;
  /// y = a + params[0] * b * c, left to right
  void (*addcmul)(const T* a, const T* b, const T* c, T* y, std::size_t n, const T* params) = nullptr;
  /// Reads n elements of dtype `from`, `stride` elements apart, as T.
  void (*load)(DType from, const std::byte* x, std::int64_t stride, T* y, std::size_t n) = nullptr;
  /// Writes n elements as dtype `to`, rounding to nearest even (to integers: towards zero; to bool: not zero).
  void (*store)(const T* x, DType to, std::byte* y, std::size_t n) = nullptr;
};

enum class Reduce : std::uint8_t { sum, mean, amax, amin, prod, var, standard_deviation, norm2, sum_squares, count };

/// Kernels on rows of E: float, double, bfloat16 (computed in float). T is the type computed in. All row ranges are [begin, end).
template <class E, class T>
struct RowTable {
  /// Reduces rows of n elements, `stride` apart, by the row rule. `correction` acts on var and standard_deviation.
  void (*reduce_rows)(Reduce op, const E* x, std::int64_t stride, std::size_t n, double correction, E* y, std::size_t begin,
                      std::size_t end);
  /// Reduces columns [begin, end) of x: [rows, columns] dense, by the rows rule.
  void (*reduce_columns)(Reduce op, const E* x, std::size_t rows, std::size_t columns, double correction, E* y, std::size_t begin,
                         std::size_t end);
  /// Leaves [begin, end) of a full reduction over n elements. `mean` is subtracted by var and standard_deviation.
  void (*reduce_leaves)(Reduce op, const E* x, std::size_t n, T mean, T* leaves, std::size_t begin, std::size_t end);
  /// Ends a full reduction; destroys the leaves.
  T (*finish_leaves)(Reduce op, T* leaves, std::size_t count, std::size_t n, double correction);

  void (*softmax)(const E* x, E* y, std::size_t n, std::size_t begin, std::size_t end);
  void (*softmax_backward)(const E* y, const E* dy, E* dx, std::size_t n, std::size_t begin, std::size_t end);
  void (*log_softmax)(const E* x, E* y, std::size_t n, std::size_t begin, std::size_t end);
  void (*log_softmax_backward)(const E* y, const E* dy, E* dx, std::size_t n, std::size_t begin, std::size_t end);
  void (*logsumexp)(const E* x, E* y, std::size_t n, std::size_t begin, std::size_t end);

  /// weight and bias may be null.
  void (*layer_norm)(const E* x, const E* weight, const E* bias, T eps, E* y, T* mean, T* rstd, std::size_t n, std::size_t begin,
                     std::size_t end);
  void (*rms_norm)(const E* x, const E* weight, bool unit_offset, T eps, E* y, T* rstd, std::size_t n, std::size_t begin, std::size_t end);
  void (*layer_norm_backward)(const E* x, const T* mean, const T* rstd, const E* dy, const E* weight, E* dx, std::size_t n,
                              std::size_t begin, std::size_t end);
  void (*rms_norm_backward)(const E* x, const T* rstd, const E* dy, const E* weight, bool unit_offset, E* dx, std::size_t n,
                            std::size_t begin, std::size_t end);
  /// Columns [begin, end) of the weight's and bias's gradients. mean is null for RMS norm; dweight or dbias may be null.
  void (*norm_parameter_gradients)(const E* x, const T* mean, const T* rstd, const E* dy, E* dweight, E* dbias, std::size_t rows,
                                   std::size_t n, std::size_t begin, std::size_t end);

  void (*cross_entropy)(const E* x, const std::int64_t* target, const rows::CrossEntropy<T>& options, T* loss, T* lse, std::size_t classes,
                        std::size_t begin, std::size_t end);
  void (*cross_entropy_backward)(const E* x, const std::int64_t* target, const T* lse, const T* grad, const rows::CrossEntropy<T>& options,
                                 E* dx, std::size_t classes, std::size_t begin, std::size_t end);

  /// Rotates the first n elements of one row of `size`; `backward` transposes. Not in place.
  void (*rope)(rows::RopeLayout layout, bool backward, const E* x, const T* cos, const T* sin, std::size_t n, std::size_t size, E* y);

  /// y = dropout(x), element i drawing word first + i.
  void (*dropout)(const E* x, E* y, T p, std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end);
  /// Fills with uniform or normal draws, element i from word first + i (normal: the pair of words around it).
  void (*uniform)(E* y, std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end);
  void (*normal)(E* y, std::uint64_t seed, std::uint64_t first, std::size_t begin, std::size_t end);
};

/// A matrix operand as strides in elements.
template <class E>
struct Matrix {
  E* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;
};

/// How the blocks of a product are cut on a machine; changes no bits.
struct ProductBlocks {
  std::size_t rows = 256;  // rows of A packed at a time, a multiple of the tile's rows
};

/// C[m, n] (+)= A[m, k] B[k, n] by the contract's order. E: element type of A and B; T of the sums.
template <class E, class T>
struct ProductTable {
  /// Workspace elements (of T) one thread needs.
  std::size_t (*workspace)(ProductBlocks blocks);
  /// Columns or rows of a tile: splits over threads fall on multiples of these.
  std::size_t tile_rows = 1, tile_columns = 1;
  /// Rows [row_begin, row_end) and columns [column_begin, column_end) of the product.
  /// `accumulate` adds every k block to C, else the first stores.
  void (*multiply)(Matrix<const E> a, Matrix<const E> b, Matrix<T> c, std::size_t k, std::size_t row_begin, std::size_t row_end,
                   std::size_t column_begin, std::size_t column_end, bool accumulate, ProductBlocks blocks, T* workspace) = nullptr;
};

/// How the all-bfloat16 update rounds what it stores.
struct AdamWRounding {
  bool stochastic = false;
  std::uint64_t seed = 0, step = 0;
  std::uint32_t parameter = 0;
};

/// One parameter's update over elements [begin, end), gradients multiplied by `coefficient`.
struct OptimizerTable {
  void (*adamw_f32)(const optimizer::AdamWStep<float>& step, float coefficient, const float* p, const float* g, const float* m,
                    const float* v, float* next_p, float* next_m, float* next_v, std::size_t begin, std::size_t end);
  void (*adamw_f64)(const optimizer::AdamWStep<double>& step, double coefficient, const double* p, const double* g, const double* m,
                    const double* v, double* next_p, double* next_m, double* next_v, std::size_t begin, std::size_t end);
  /// float32 master and moments; the parameter is the master's rounded copy. The gradient is bfloat16, or float32 where `wide` is not null.
  void (*adamw_master)(const optimizer::AdamWStep<float>& step, float coefficient, const bfloat16* g, const float* wide, const float* m,
                       const float* v, const float* master, bfloat16* next_p, float* next_m, float* next_v, float* next_master,
                       std::size_t begin, std::size_t end);
  /// Parameter and moments bfloat16; the gradient as above.
  void (*adamw_bf16)(const optimizer::AdamWStep<float>& step, float coefficient, const bfloat16* p, const bfloat16* g, const float* wide,
                     const bfloat16* m, const bfloat16* v, bfloat16* next_p, bfloat16* next_m, bfloat16* next_v,
                     const AdamWRounding& rounding, std::size_t begin, std::size_t end);
};

struct AttentionTable {
  /// Elements (float) of workspace one thread needs, for tiles and for the general path.
  std::size_t (*forward_workspace)(const attention::Config& config);
  std::size_t (*backward_workspace)(const attention::Config& config);
  /// Whether the tiles take this head: last dimensions dense, no bias; forward no mask, or one that leaves a run of keys to a single
  /// query, as in generation.
  bool (*forward_takes)(const attention::Config& config, const attention::Inputs<float>& inputs, std::int64_t batch, std::int64_t head);
  /// Whether the tiles take this: last dimensions dense, no mask, no bias.
  bool (*backward_takes)(const attention::Config& config, const attention::Inputs<float>& inputs);
  void (*forward_tiles)(const attention::Config& config, const attention::Inputs<float>& inputs, const attention::View<float>& out,
                        float* lse, std::int64_t batch, std::int64_t head, float* workspace);
  void (*backward_tiles)(const attention::Config& config, const attention::Inputs<float>& inputs, const attention::View<const float>& out,
                         const attention::View<const float>& dout, const float* lse, const attention::Gradients<float>& grads,
                         std::int64_t batch, std::int64_t kv_head, float* workspace);
};

/// The general attention path: one query head, or one key head backward, at a time.
template <class E, class T>
struct AttentionRows {
  void (*forward)(const attention::Config& config, const attention::Inputs<E>& inputs, const attention::View<E>& out, T* lse,
                  std::int64_t batch, std::int64_t head, T* workspace);
  void (*backward)(const attention::Config& config, const attention::Inputs<E>& inputs, const attention::View<const E>& out,
                   const attention::View<const E>& dout, const T* lse, const attention::Gradients<E>& grads, std::int64_t batch,
                   std::int64_t kv_head, T* workspace);
};

struct Kernels {
  IsaLevel isa = IsaLevel::v2;
  PointwiseTable<float> pointwise_f32;
  PointwiseTable<double> pointwise_f64;
  PointwiseTable<std::int64_t> pointwise_i64;
  RowTable<float, float> rows_f32{};
  RowTable<double, double> rows_f64{};
  RowTable<bfloat16, float> rows_bf16{};
  ProductTable<float, float> product_f32{};
  ProductTable<double, double> product_f64{};
  ProductTable<bfloat16, float> product_bf16{};
  OptimizerTable optimizer{};
  AttentionTable attention{};
  AttentionRows<float, float> attention_f32{};
  AttentionRows<double, double> attention_f64{};
  AttentionRows<bfloat16, float> attention_bf16{};
};

/// The kernels compiled for `isa`. The CPU must have it.
const Kernels& kernels_for(IsaLevel isa);

}  // namespace reprise::loops
