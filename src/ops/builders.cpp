// SPDX-License-Identifier: Apache-2.0
// Emitters of constants, pointwise ops, reductions, ordering, products, random draws and regions.
#include "ops/builders.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace reprise::ops {
namespace {

std::vector<ValueId> present(std::initializer_list<ValueId> values) {
  std::vector<ValueId> result;
  std::copy_if(values.begin(), values.end(), std::back_inserter(result), [](ValueId value) { return value.valid(); });
  return result;
}

void append_present(std::vector<ValueId>& list, std::initializer_list<ValueId> values) {
  const std::vector<ValueId> more = present(values);
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

ValueId full(Builder& b, const Shape& shape, DType dtype, double value) { return b.emit(op::full, {}, FullAttrs{shape, dtype, value}); }

ValueId zeros_like(Builder& b, ValueId like) { return full(b, b.shape(like), b.dtype(like), 0); }

ValueId iota(Builder& b, std::int64_t size, DType dtype, std::int64_t start, std::int64_t step) {
  return b.emit(op::iota, {}, IotaAttrs{size, start, step, dtype});
}

ValueId cast(Builder& b, ValueId x, DType dtype) { return b.dtype(x) == dtype ? x : b.emit(op::cast, {x}, CastAttrs{dtype}); }

ValueId copy(Builder& b, ValueId x) { return b.emit(op::copy, {x}); }

ValueId unary(Builder& b, Opcode opcode, ValueId x) { return b.emit(opcode, {x}); }

ValueId binary(Builder& b, Opcode opcode, ValueId x, ValueId y) { return b.emit(opcode, {x, y}); }

ValueId gelu(Builder& b, ValueId x, bool tanh_form) { return b.emit(op::gelu, {x}, GeluAttrs{tanh_form}); }

ValueId softcap(Builder& b, ValueId x, double cap) { return b.emit(op::softcap, {x}, ScalarAttrs{cap}); }

ValueId add_scalar(Builder& b, ValueId x, double value) { return b.emit(op::add_scalar, {x}, ScalarAttrs{value}); }

ValueId mul_scalar(Builder& b, ValueId x, double value) { return b.emit(op::mul_scalar, {x}, ScalarAttrs{value}); }

ValueId div_scalar(Builder& b, ValueId x, double value) { return b.emit(op::div_scalar, {x}, ScalarAttrs{value}); }

ValueId pow_scalar(Builder& b, ValueId x, double exponent) { return b.emit(op::pow_scalar, {x}, ScalarAttrs{exponent}); }

ValueId clamp(Builder& b, ValueId x, std::optional<double> min, std::optional<double> max) {
  return b.emit(op::clamp, {x}, ClampAttrs{min, max});
}

ValueId silu_backward(Builder& b, ValueId x, ValueId gy) { return b.emit(op::silu_backward, {x, gy}); }

ValueId gelu_backward(Builder& b, ValueId x, ValueId gy, bool tanh_form) {
  return b.emit(op::gelu_backward, {x, gy}, GeluAttrs{tanh_form});
}

ValueId where(Builder& b, ValueId condition, ValueId x, ValueId y) { return b.emit(op::where, {condition, x, y}); }

ValueId lerp(Builder& b, ValueId x, ValueId y, double weight) { return b.emit(op::lerp, {x, y}, ScalarAttrs{weight}); }

ValueId addcmul(Builder& b, ValueId x, ValueId y, ValueId z, double value) {
  return b.emit(op::addcmul, {x, y, z}, ScalarAttrs{value});
}

ValueId masked_fill(Builder& b, ValueId mask, ValueId x, double value) { return b.emit(op::masked_fill, {mask, x}, ScalarAttrs{value}); }

ValueId reduce(Builder& b, Opcode opcode, ValueId x, std::optional<Ints> dims, bool keepdim, std::int64_t correction) {
  return b.emit(opcode, {x}, ReduceAttrs{std::move(dims), keepdim, correction});
}

ValueId sum_squares(Builder& b, ValueId x) { return b.emit(op::sum_squares, {x}); }

ValueId sum_to(Builder& b, ValueId g, const Shape& to) {
  const Shape shape = to;  // `to` may lie in the trace, which emitting moves
  const Shape from = b.shape(g);
  if (from == shape) return g;
  const std::size_t lead = from.rank() - shape.rank();
  Ints dims;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && from[i] != 1)) dims.push_back(static_cast<std::int64_t>(i));
  }
  const ValueId summed = dims.empty() ? g : sum(b, g, dims, false);
  return b.shape(summed) == shape ? summed : reshape(b, summed, shape);
}

ValueId cumsum(Builder& b, ValueId x, std::int64_t dim, bool reverse) { return b.emit(op::cumsum, {x}, ScanAttrs{dim, reverse}); }

ValueId cumprod(Builder& b, ValueId x, std::int64_t dim) { return b.emit(op::cumprod, {x}, ScanAttrs{dim, false}); }

ValueId logsumexp(Builder& b, ValueId x, std::int64_t dim) { return b.emit(op::logsumexp, {x}, DimAttrs{dim}); }

ValueId softmax(Builder& b, ValueId x, std::int64_t dim) { return b.emit(op::softmax, {x}, DimAttrs{dim}); }

ValueId softmax_backward(Builder& b, ValueId y, ValueId gy, std::int64_t dim) {
  return b.emit(op::softmax_backward, {y, gy}, DimAttrs{dim});
}

ValueId log_softmax(Builder& b, ValueId x, std::int64_t dim) { return b.emit(op::log_softmax, {x}, DimAttrs{dim}); }

ValueId log_softmax_backward(Builder& b, ValueId y, ValueId gy, std::int64_t dim) {
  return b.emit(op::log_softmax_backward, {y, gy}, DimAttrs{dim});
}

ValueId argmax(Builder& b, ValueId x, std::int64_t dim, bool keepdim) { return b.emit(op::argmax, {x}, ArgAttrs{dim, keepdim}); }

ValueId argmin(Builder& b, ValueId x, std::int64_t dim, bool keepdim) { return b.emit(op::argmin, {x}, ArgAttrs{dim, keepdim}); }

ValuesAndIndices max_dim(Builder& b, ValueId x, std::int64_t dim, bool keepdim) {
  const auto outputs = b.emit_all(op::max_dim, {x}, ArgAttrs{dim, keepdim});
  return {outputs[0], outputs[1]};
}

ValuesAndIndices topk(Builder& b, ValueId x, std::int64_t k, std::int64_t dim, bool largest) {
  const auto outputs = b.emit_all(op::topk, {x}, TopkAttrs{dim, k, largest});
  return {outputs[0], outputs[1]};
}

ValuesAndIndices sort(Builder& b, ValueId x, std::int64_t dim, bool descending) {
  const auto outputs = b.emit_all(op::sort, {x}, SortAttrs{dim, descending});
  return {outputs[0], outputs[1]};
}

ValueId bincount(Builder& b, ValueId x, std::int64_t size) { return b.emit(op::bincount, {x}, SizeAttrs{size}); }

ValueId matmul(Builder& b, ValueId x, ValueId y, bool transpose_x, bool transpose_y) {
  return b.emit(op::matmul, {x, y}, MatmulAttrs{transpose_x, transpose_y});
}

ValueId matmul_accumulate(Builder& b, ValueId c, ValueId x, ValueId y, bool transpose_x, bool transpose_y) {
  return b.emit(op::matmul_accumulate, {c, x, y}, MatmulAttrs{transpose_x, transpose_y});
}

ValueId linear(Builder& b, ValueId x, ValueId weight, ValueId bias) { return b.emit(op::linear, present({x, weight, bias})); }

NormResult layer_norm(Builder& b, ValueId x, ValueId weight, ValueId bias, double eps) {
  const auto outputs = b.emit_all(op::layer_norm, present({x, weight, bias}), NormAttrs{eps, false, weight.valid(), bias.valid()});
  return {outputs[0], outputs[1], outputs[2]};
}

NormResult rms_norm(Builder& b, ValueId x, ValueId weight, double eps, bool unit_offset) {
  const auto outputs = b.emit_all(op::rms_norm, present({x, weight}), NormAttrs{eps, unit_offset, weight.valid(), false});
  return {outputs[0], ValueId(), outputs[1]};
}

std::vector<ValueId> layer_norm_backward(Builder& b, ValueId x, ValueId mean, ValueId rstd, ValueId gy, ValueId weight,
                                         const NormAttrs& attrs) {
  return b.emit_all(op::layer_norm_backward, present({x, mean, rstd, gy, weight}), attrs);
}

std::vector<ValueId> rms_norm_backward(Builder& b, ValueId x, ValueId rstd, ValueId gy, ValueId weight, const NormAttrs& attrs) {
  return b.emit_all(op::rms_norm_backward, present({x, rstd, gy, weight}), attrs);
}

ValueId rope(Builder& b, ValueId x, ValueId cos, ValueId sin, RopeLayout layout) {
  return b.emit(op::rope, {x, cos, sin}, RopeAttrs{layout});
}

ValueId rope_backward(Builder& b, ValueId gy, ValueId cos, ValueId sin, RopeLayout layout) {
  return b.emit(op::rope_backward, {gy, cos, sin}, RopeAttrs{layout});
}

CrossEntropyResult cross_entropy(Builder& b, ValueId logits, ValueId target, const CrossEntropyAttrs& attrs, ValueId weight) {
  CrossEntropyAttrs complete = attrs;
  complete.has_weight = weight.valid();
  const auto outputs = b.emit_all(op::cross_entropy, present({logits, target, weight}), complete);
  return {outputs[0], outputs[1]};
}

ValueId cross_entropy_backward(Builder& b, ValueId logits, ValueId target, ValueId lse, ValueId gloss,
                               const CrossEntropyAttrs& attrs, ValueId weight) {
  return b.emit(op::cross_entropy_backward, present({logits, target, lse, gloss, weight}), attrs);
}

AttentionResult attention(Builder& b, const AttentionInputs& inputs, AttentionAttrs attrs) {
  attrs.has_bias = inputs.bias.valid();
  attrs.has_mask = inputs.mask.valid();
  attrs.has_segments = inputs.segments.valid();
  const auto outputs = b.emit_all(
      op::attention, present({inputs.q, inputs.k, inputs.v, inputs.bias, inputs.mask, inputs.segments, inputs.seed, inputs.offset}), attrs);
  return {outputs[0], outputs[1]};
}

std::vector<ValueId> attention_backward(Builder& b, const AttentionInputs& inputs, ValueId out, ValueId lse, ValueId gout,
                                        const AttentionAttrs& attrs) {
  std::vector<ValueId> list = {inputs.q, inputs.k, inputs.v, out, lse, gout};
  append_present(list, {inputs.bias, inputs.mask, inputs.segments, inputs.seed, inputs.offset});
  return b.emit_all(op::attention_backward, std::move(list), attrs);
}

ValueId uniform(Builder& b, const Shape& shape, DType dtype) { return b.emit(op::uniform, {}, ShapeAttrs{shape, dtype}); }

ValueId normal(Builder& b, const Shape& shape, DType dtype) { return b.emit(op::normal, {}, ShapeAttrs{shape, dtype}); }

ValueId dropout(Builder& b, ValueId x, double p) { return b.emit(op::dropout, {x}, DropoutAttrs{p}); }

ValueId philox_uniform(Builder& b, ValueId seed, ValueId offset, const PhiloxAttrs& attrs) {
  return b.emit(op::philox_uniform, {seed, offset}, attrs);
}

ValueId philox_normal(Builder& b, ValueId seed, ValueId offset, const PhiloxAttrs& attrs) {
  return b.emit(op::philox_normal, {seed, offset}, attrs);
}

ValueId philox_dropout(Builder& b, ValueId x, ValueId seed, ValueId offset, double p, std::int64_t draw) {
  PhiloxAttrs attrs;
  attrs.draw = draw;
  attrs.p = p;
  return b.emit(op::philox_dropout, {x, seed, offset}, attrs);
}

ValueId clip_coefficient(Builder& b, ValueId total_squares, double max_norm) {
  return b.emit(op::clip_coefficient, {total_squares}, ScalarAttrs{max_norm});
}

AdamWResult adamw(Builder& b, const AdamWInputs& inputs, AdamWAttrs attrs) {
  attrs.has_coefficient = inputs.coefficient.valid();
  attrs.has_master = inputs.master.valid();
  std::vector<ValueId> list = {inputs.p, inputs.g, inputs.m, inputs.v, inputs.lr, inputs.step};
  append_present(list, {inputs.coefficient, inputs.master, inputs.seed});
  const auto outputs = b.emit_all(op::adamw, std::move(list), attrs);
  return {outputs[0], outputs[1], outputs[2], attrs.has_master ? outputs[3] : ValueId()};
}

std::vector<ValueId> tile(Builder& b, std::vector<ValueId> inputs, Trace body, TileAttrs attrs) {
  std::vector<Trace> bodies;
  bodies.push_back(std::move(body));
  return b.emit_with_bodies(op::tile, std::move(inputs), std::move(attrs), std::move(bodies));
}

std::vector<ValueId> custom_function(Builder& b, std::vector<ValueId> inputs, Trace forward, Trace backward, std::string name) {
  std::vector<Trace> bodies;
  bodies.push_back(std::move(forward));
  bodies.push_back(std::move(backward));
  CustomAttrs attrs;
  attrs.name = std::move(name);
  return b.emit_with_bodies(op::custom_function, std::move(inputs), std::move(attrs), std::move(bodies));
}

ValueId all_reduce(Builder& b, ValueId x, std::string group, std::int64_t size) {
  return b.emit(op::all_reduce, {x}, CollectiveAttrs{std::move(group), size});
}

}  // namespace reprise::ops
