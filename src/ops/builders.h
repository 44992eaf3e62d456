// SPDX-License-Identifier: Apache-2.0
// Typed functions that emit one op (or a short composition) each. This page is the reference of every op's inputs and
// outputs: model code, vjp formulas, decompositions and passes all emit through it.
// x, y: any shape unless said; two- and three-input pointwise ops broadcast as numpy does.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/builder.h"

namespace reprise::ops {

// ---- constants, conversion -------------------------------------------------------------------------------------
ValueId full(Builder& b, const Shape& shape, DType dtype, double value);
/// Zeros of the type of `like`.
ValueId zeros_like(Builder& b, ValueId like);
/// start, start + step, ...: [size]
ValueId iota(Builder& b, std::int64_t size, DType dtype = DType::int64, std::int64_t start = 0, std::int64_t step = 1);
/// Converts; returns x itself when it has the dtype already.
ValueId cast(Builder& b, ValueId x, DType dtype);
/// A dense copy.
ValueId copy(Builder& b, ValueId x);

// ---- pointwise: any op of one input without attributes through `unary`, of two through `binary` ------------------
ValueId unary(Builder& b, Opcode opcode, ValueId x);
ValueId binary(Builder& b, Opcode opcode, ValueId x, ValueId y);
inline ValueId neg(Builder& b, ValueId x) { return unary(b, op::neg, x); }
inline ValueId exp(Builder& b, ValueId x) { return unary(b, op::exp, x); }
inline ValueId log(Builder& b, ValueId x) { return unary(b, op::log, x); }
inline ValueId tanh(Builder& b, ValueId x) { return unary(b, op::tanh, x); }
inline ValueId sigmoid(Builder& b, ValueId x) { return unary(b, op::sigmoid, x); }
inline ValueId square(Builder& b, ValueId x) { return unary(b, op::square, x); }
inline ValueId sqrt(Builder& b, ValueId x) { return unary(b, op::sqrt, x); }
inline ValueId rsqrt(Builder& b, ValueId x) { return unary(b, op::rsqrt, x); }
inline ValueId reciprocal(Builder& b, ValueId x) { return unary(b, op::reciprocal, x); }
inline ValueId relu(Builder& b, ValueId x) { return unary(b, op::relu, x); }
inline ValueId silu(Builder& b, ValueId x) { return unary(b, op::silu, x); }
inline ValueId add(Builder& b, ValueId x, ValueId y) { return binary(b, op::add, x, y); }
inline ValueId sub(Builder& b, ValueId x, ValueId y) { return binary(b, op::sub, x, y); }
inline ValueId mul(Builder& b, ValueId x, ValueId y) { return binary(b, op::mul, x, y); }
inline ValueId div(Builder& b, ValueId x, ValueId y) { return binary(b, op::div, x, y); }
ValueId gelu(Builder& b, ValueId x, bool tanh_form);
/// cap * tanh(x / cap)
ValueId softcap(Builder& b, ValueId x, double cap);
ValueId add_scalar(Builder& b, ValueId x, double value);
ValueId mul_scalar(Builder& b, ValueId x, double value);
ValueId div_scalar(Builder& b, ValueId x, double value);
ValueId pow_scalar(Builder& b, ValueId x, double exponent);
ValueId clamp(Builder& b, ValueId x, std::optional<double> min, std::optional<double> max);
/// (x, gy) -> gx of silu; of gelu.
ValueId silu_backward(Builder& b, ValueId x, ValueId gy);
ValueId gelu_backward(Builder& b, ValueId x, ValueId gy, bool tanh_form);
/// condition (bool) ? x : y
ValueId where(Builder& b, ValueId condition, ValueId x, ValueId y);
/// x + weight * (y - x)
ValueId lerp(Builder& b, ValueId x, ValueId y, double weight);
/// x + value * y * z
ValueId addcmul(Builder& b, ValueId x, ValueId y, ValueId z, double value);
/// inputs (mask, x): mask (bool) ? value : x
ValueId masked_fill(Builder& b, ValueId mask, ValueId x, double value);

// ---- reductions, scans -------------------------------------------------------------------------------------------
/// opcode: sum, mean, amax, amin, prod, var, std, norm2. No dims: over all.
ValueId reduce(Builder& b, Opcode opcode, ValueId x, std::optional<Ints> dims = {}, bool keepdim = false, std::int64_t correction = 0);
inline ValueId sum(Builder& b, ValueId x, std::optional<Ints> dims = {}, bool keepdim = false) {
  return reduce(b, op::sum, x, std::move(dims), keepdim);
}
inline ValueId mean(Builder& b, ValueId x, std::optional<Ints> dims = {}, bool keepdim = false) {
  return reduce(b, op::mean, x, std::move(dims), keepdim);
}
/// Sum of squares of all elements as a scalar; float32 for the 16-bit types.
ValueId sum_squares(Builder& b, ValueId x);
/// Undoes a broadcast: sums `g` down to `shape`.
ValueId sum_to(Builder& b, ValueId g, const Shape& shape);
ValueId cumsum(Builder& b, ValueId x, std::int64_t dim, bool reverse = false);
ValueId cumprod(Builder& b, ValueId x, std::int64_t dim);
ValueId logsumexp(Builder& b, ValueId x, std::int64_t dim);
ValueId softmax(Builder& b, ValueId x, std::int64_t dim);
/// (y, gy) -> gx, y the softmax; (y, gy) -> gx, y the log-softmax.
ValueId softmax_backward(Builder& b, ValueId y, ValueId gy, std::int64_t dim);
ValueId log_softmax(Builder& b, ValueId x, std::int64_t dim);
ValueId log_softmax_backward(Builder& b, ValueId y, ValueId gy, std::int64_t dim);

// ---- ordering ----------------------------------------------------------------------------------------------------
/// Index (int64) of the first largest element; NaN counts as largest.
ValueId argmax(Builder& b, ValueId x, std::int64_t dim, bool keepdim = false);
ValueId argmin(Builder& b, ValueId x, std::int64_t dim, bool keepdim = false);
struct ValuesAndIndices {
  ValueId values;
  ValueId indices;  // int64
};
/// Largest value along dim and the index of the first such.
ValuesAndIndices max_dim(Builder& b, ValueId x, std::int64_t dim, bool keepdim = false);
ValuesAndIndices topk(Builder& b, ValueId x, std::int64_t k, std::int64_t dim = -1, bool largest = true);
ValuesAndIndices sort(Builder& b, ValueId x, std::int64_t dim = -1, bool descending = false);
/// Counts of 0 .. size-1 in integer x: int64 [size]
ValueId bincount(Builder& b, ValueId x, std::int64_t size);

// ---- views -------------------------------------------------------------------------------------------------------
ValueId reshape(Builder& b, ValueId x, const Shape& shape);
ValueId expand(Builder& b, ValueId x, const Shape& shape);
ValueId permute(Builder& b, ValueId x, Ints order);
ValueId transpose(Builder& b, ValueId x, std::int64_t dim0, std::int64_t dim1);
/// Negative start and stop count from the end; both are clamped to the extent.
ValueId slice(Builder& b, ValueId x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// slice of one index with the dimension removed
ValueId select(Builder& b, ValueId x, std::int64_t dim, std::int64_t index);
ValueId squeeze(Builder& b, ValueId x, Ints dims);
ValueId unsqueeze(Builder& b, ValueId x, Ints dims);
/// Of the last two dimensions: [..., m, n] -> [..., k]
ValueId diagonal(Builder& b, ValueId x, std::int64_t offset = 0);
/// Windows along dim, appended as a last dimension of extent `size`.
ValueId unfold(Builder& b, ValueId x, std::int64_t dim, std::int64_t size, std::int64_t step);
std::vector<ValueId> split(Builder& b, ValueId x, std::int64_t dim, const Ints& sizes);
ValueId as_strided(Builder& b, ValueId x, const Shape& shape, Ints strides, std::int64_t offset);
/// (base, src) -> base with the window replaced by src (no element twice in the window).
ValueId as_strided_scatter(Builder& b, ValueId base, ValueId src, const Shape& shape, Ints strides, std::int64_t offset);

// ---- data movement -----------------------------------------------------------------------------------------------
ValueId cat(Builder& b, std::vector<ValueId> xs, std::int64_t dim);
ValueId stack(Builder& b, const std::vector<ValueId>& xs, std::int64_t dim);
ValueId flip(Builder& b, ValueId x, Ints dims);
ValueId roll(Builder& b, ValueId x, std::int64_t shift, std::int64_t dim);
ValueId repeat(Builder& b, ValueId x, Ints repeats);
/// Each element of dim `repeats` times in a row.
ValueId repeat_interleave(Builder& b, ValueId x, std::int64_t repeats, std::int64_t dim);
ValueId pad(Builder& b, ValueId x, Ints before, Ints after, double value = 0);
/// Zeros before and after along one dimension.
ValueId pad_dim(Builder& b, ValueId x, std::size_t dim, std::int64_t before, std::int64_t after);
ValueId tril(Builder& b, ValueId x, std::int64_t diagonal = 0);
ValueId triu(Builder& b, ValueId x, std::int64_t diagonal = 0);

// ---- indexing (indices int32 or int64; out of range is an error in `evaluate`) --------------------------------------
ValueId gather(Builder& b, ValueId x, std::int64_t dim, ValueId index);
/// (x, index, src) -> x with src written at index along dim; the last of equal indices wins.
ValueId scatter(Builder& b, ValueId x, std::int64_t dim, ValueId index, ValueId src);
ValueId scatter_add(Builder& b, ValueId x, std::int64_t dim, ValueId index, ValueId src);
/// index: [n]
ValueId index_select(Builder& b, ValueId x, std::int64_t dim, ValueId index);
/// x with alpha * src added in rows `index` of dim.
ValueId index_add(Builder& b, ValueId x, std::int64_t dim, ValueId index, ValueId src, double alpha = 1);
/// x[indices...] = (or +=) values; one index tensor a leading dimension, all of one shape.
ValueId index_put(Builder& b, ValueId x, std::vector<ValueId> indices, ValueId values, bool accumulate);
/// weight [V, C], index [...] -> [..., C]
ValueId embedding(Builder& b, ValueId weight, ValueId index, std::optional<std::int64_t> padding_index = {});
/// (gy [..., C], index [...]) -> gradient [rows, C], per row tokens ascending
ValueId embedding_backward(Builder& b, ValueId gy, ValueId index, std::int64_t rows, std::optional<std::int64_t> padding_index = {});
ValueId one_hot(Builder& b, ValueId index, std::int64_t classes);

// ---- matrix products ---------------------------------------------------------------------------------------------
/// Numpy matmul of ranks >= 1 (rank 1 needs no transpose flag); leading dimensions broadcast.
ValueId matmul(Builder& b, ValueId x, ValueId y, bool transpose_x = false, bool transpose_y = false);
/// C [m, n] (float32 or float64) + a b, each k block added to C.
ValueId matmul_accumulate(Builder& b, ValueId c, ValueId x, ValueId y, bool transpose_x = false, bool transpose_y = false);
/// x [..., in], weight [out, in], bias [out] or none -> [..., out]
ValueId linear(Builder& b, ValueId x, ValueId weight, ValueId bias = ValueId());

// ---- model composites --------------------------------------------------------------------------------------------
struct NormResult {
  ValueId y;
  ValueId mean;  // layer_norm only; float32 (float64) [..., 1] removed: [...]
  ValueId rstd;
};
/// inputs (x [.., C], weight [C]?, bias [C]?) -> outputs (y, mean, rstd)
NormResult layer_norm(Builder& b, ValueId x, ValueId weight, ValueId bias, double eps);
/// inputs (x, weight?) -> outputs (y, rstd)
NormResult rms_norm(Builder& b, ValueId x, ValueId weight, double eps, bool unit_offset = false);
/// inputs (x, mean, rstd, gy, weight?) -> outputs (gx, gweight?, gbias?)
std::vector<ValueId> layer_norm_backward(Builder& b, ValueId x, ValueId mean, ValueId rstd, ValueId gy, ValueId weight,
                                         const NormAttrs& attrs);
/// inputs (x, rstd, gy, weight?) -> outputs (gx, gweight?)
std::vector<ValueId> rms_norm_backward(Builder& b, ValueId x, ValueId rstd, ValueId gy, ValueId weight, const NormAttrs& attrs);
/// x [..., T, D]; cos and sin [T, n] or any shape broadcasting to x's but for the last extent n <= D: the first n elements turn, the rest
/// pass. Tables hold the angles twice, [theta, theta]: layout half reads column i for element i (n may be odd: halves of n / 2 and
/// n - n / 2), the others column j < n / 2 for pair j (n even).
ValueId rope(Builder& b, ValueId x, ValueId cos, ValueId sin, RopeLayout layout = RopeLayout::half);
ValueId rope_backward(Builder& b, ValueId gy, ValueId cos, ValueId sin, RopeLayout layout);
struct CrossEntropyResult {
  ValueId loss;  // [N] float32 (float64 for float64 logits), 0 where ignored; not reduced
  ValueId lse;   // [N] log-sum-exp of the row
};
/// inputs (logits [N, C], target [N] int, class weight [C]?); label smoothing and z-loss included in the row's loss
CrossEntropyResult cross_entropy(Builder& b, ValueId logits, ValueId target, const CrossEntropyAttrs& attrs, ValueId weight = ValueId());
/// inputs (logits, target, lse, gloss [N], weight?) -> glogits
ValueId cross_entropy_backward(Builder& b, ValueId logits, ValueId target, ValueId lse, ValueId gloss, const CrossEntropyAttrs& attrs,
                               ValueId weight = ValueId());
struct AttentionInputs {
  ValueId q;       // [B, Hq, Tq, D]
  ValueId k;       // [B, Hkv, Tk, D]; query head h reads key head h / (Hq/Hkv)
  ValueId v;       // [B, Hkv, Tk, Dv]
  ValueId bias;    // added to scaled (and capped) scores; broadcasts to [B, Hq, Tq, Tk]
  ValueId mask;    // bool, true = may attend; broadcasts likewise
  ValueId segments;  // int64 [B, T]: a query sees the keys of its run of equal ids; Tq = Tk
  ValueId seed;    // with dropout: scalars int64
  ValueId offset;
};
struct AttentionResult {
  ValueId out;  // [B, Tq, Hq, Dv]: by tokens, as a projection reads it; a row that may attend nowhere gives 0
  ValueId lse;  // [B, Hq, Tq] float32 (float64)
};
/// node inputs in the order above, absent ones left out (flags in attrs say which)
AttentionResult attention(Builder& b, const AttentionInputs& inputs, AttentionAttrs attrs);
/// node inputs (q, k, v, out, lse, gout, bias?, mask?, segments?, seed?, offset?) -> (gq, gk, gv, gbias?); out and gout by tokens
std::vector<ValueId> attention_backward(Builder& b, const AttentionInputs& inputs, ValueId out, ValueId lse, ValueId gout,
                                        const AttentionAttrs& attrs);

// ---- random ------------------------------------------------------------------------------------------------------
/// Impure draws (before the rng pass): uniform in [0, 1), standard normal; dropout: x * keep / (1 - p).
ValueId uniform(Builder& b, const Shape& shape, DType dtype);
ValueId normal(Builder& b, const Shape& shape, DType dtype);
ValueId dropout(Builder& b, ValueId x, double p);
/// Pure draws: element i is Philox word (offset + draw + i); seed, offset int64 scalars.
ValueId philox_uniform(Builder& b, ValueId seed, ValueId offset, const PhiloxAttrs& attrs);
ValueId philox_normal(Builder& b, ValueId seed, ValueId offset, const PhiloxAttrs& attrs);
/// inputs (x, seed, offset): keep where uniform >= p
ValueId philox_dropout(Builder& b, ValueId x, ValueId seed, ValueId offset, double p, std::int64_t draw);

// ---- optimizer ---------------------------------------------------------------------------------------------------
/// sum of squares (scalar) -> min(1, max_norm / (sqrt(s) + 1e-6)); NaN stays NaN
ValueId clip_coefficient(Builder& b, ValueId total_squares, double max_norm);
struct AdamWInputs {
  ValueId p, g, m, v;   // one shape; m, v in p's dtype, or float32 beside a master
  ValueId lr;           // scalar float32 (float64 in float64 traces): learning rate of this step
  ValueId step;         // scalar int64, 1 in the first step
  ValueId coefficient;  // clipping factor, multiplied into g
  ValueId master;       // float32 parameter; p is then its rounded copy
  ValueId seed;         // with stochastic rounding: int64 scalar
};
struct AdamWResult {
  ValueId p, m, v, master;
};
/// node inputs (p, g, m, v, lr, step, coefficient?, master?, seed?) -> (p, m, v, master?)
AdamWResult adamw(Builder& b, const AdamWInputs& inputs, AdamWAttrs attrs);

// ---- regions, collectives ----------------------------------------------------------------------------------------
std::vector<ValueId> tile(Builder& b, std::vector<ValueId> inputs, Trace body, TileAttrs attrs);
/// bodies[0]: inputs -> outputs; bodies[1]: (inputs..., outputs..., output cotangents...) -> input cotangents.
std::vector<ValueId> custom_function(Builder& b, std::vector<ValueId> inputs, Trace forward, Trace backward, std::string name);
ValueId all_reduce(Builder& b, ValueId x, std::string group, std::int64_t size);

}  // namespace reprise::ops
