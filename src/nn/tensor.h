// SPDX-License-Identifier: Apache-2.0
// The handle that model code computes with: a value and the tracer that records it. Every operator and method emits one
// op through src/ops/builders.h and notes the line of model code that called it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/trace.h"
#include "nn/call_site.h"

namespace reprise {

class Tracer;

class Tensor {
 public:
  using Where = CallSite;

  Tensor() = default;
  Tensor(Tracer& tracer, ValueId id) : tracer_(&tracer), id_(id) {}

  bool valid() const { return tracer_ != nullptr && id_.valid(); }
  /// UserError for a tensor that no trace made, such as Tensor().
  Tracer& tracer() const;
  ValueId id() const { return id_; }
  TensorType type() const;  // a copy: the trace grows while it is used
  Shape shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  /// Extent of a dimension, which may be negative.
  std::int64_t size(std::int64_t dim) const { return shape()[shape().wrap(dim)]; }

  // Views.
  Tensor reshape(const Shape& shape, Where where = Where::current()) const;
  Tensor expand(const Shape& shape, Where where = Where::current()) const;
  Tensor permute(Ints order, Where where = Where::current()) const;
  Tensor transpose(std::int64_t dim0, std::int64_t dim1, Where where = Where::current()) const;
  /// Elements start, start + step, ... below stop; negative bounds count from the end.
  Tensor slice(std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1, Where where = Where::current()) const;
  /// One index, its dimension removed.
  Tensor select(std::int64_t dim, std::int64_t index, Where where = Where::current()) const;
  Tensor squeeze(Ints dims, Where where = Where::current()) const;
  Tensor unsqueeze(Ints dims, Where where = Where::current()) const;
  std::vector<Tensor> split(std::int64_t dim, const Ints& sizes, Where where = Where::current()) const;

  // Products, reductions, rows.
  Tensor matmul(const Tensor& other, bool transpose_this = false, bool transpose_other = false, Where where = Where::current()) const;
  Tensor sum(std::optional<Ints> dims = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor mean(std::optional<Ints> dims = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor softmax(std::int64_t dim, Where where = Where::current()) const;
  Tensor log_softmax(std::int64_t dim, Where where = Where::current()) const;

  // Pointwise. `unary` takes any op of one input without attributes.
  Tensor unary(Opcode opcode, Where where = Where::current()) const;
  Tensor exp(Where where = Where::current()) const { return unary(op::exp, where); }
  Tensor log(Where where = Where::current()) const { return unary(op::log, where); }
  Tensor sqrt(Where where = Where::current()) const { return unary(op::sqrt, where); }
  Tensor square(Where where = Where::current()) const { return unary(op::square, where); }
  Tensor tanh(Where where = Where::current()) const { return unary(op::tanh, where); }
  Tensor sigmoid(Where where = Where::current()) const { return unary(op::sigmoid, where); }
  Tensor relu(Where where = Where::current()) const { return unary(op::relu, where); }
  Tensor silu(Where where = Where::current()) const { return unary(op::silu, where); }
  Tensor gelu(bool tanh_form = false, Where where = Where::current()) const;
  Tensor pow(double exponent, Where where = Where::current()) const;
  Tensor cast(DType dtype, Where where = Where::current()) const;
  /// Zeroes elements with probability p and scales the others by 1 / (1 - p); the tensor itself when p is 0.
  Tensor dropout(double p, Where where = Where::current()) const;

  // Indexing.
  /// index: [n] along `dim`.
  Tensor index_select(std::int64_t dim, const Tensor& index, Where where = Where::current()) const;
  Tensor gather(std::int64_t dim, const Tensor& index, Where where = Where::current()) const;
  /// This tensor with `source` written at `index` along `dim`.
  Tensor scatter(std::int64_t dim, const Tensor& index, const Tensor& source, Where where = Where::current()) const;
  /// This table's rows [V, C] at index [...] -> [..., C].
  Tensor embedding(const Tensor& index, Where where = Where::current()) const;

  // In place: writes this tensor's storage (that of what it is a view of, too) and makes this handle the new value.
  Tensor& add_(const Tensor& other, Where where = Where::current()) { return in_place(op::add, {other}, NoAttrs{}, where); }
  Tensor& sub_(const Tensor& other, Where where = Where::current()) { return in_place(op::sub, {other}, NoAttrs{}, where); }
  Tensor& mul_(const Tensor& other, Where where = Where::current()) { return in_place(op::mul, {other}, NoAttrs{}, where); }
  Tensor& div_(const Tensor& other, Where where = Where::current()) { return in_place(op::div, {other}, NoAttrs{}, where); }
  Tensor& add_(double value, Where where = Where::current()) { return in_place(op::add_scalar, {}, ScalarAttrs{value}, where); }
  Tensor& mul_(double value, Where where = Where::current()) { return in_place(op::mul_scalar, {}, ScalarAttrs{value}, where); }
  Tensor& relu_(Where where = Where::current()) { return in_place(op::relu, {}, NoAttrs{}, where); }
  /// Any op that has an in-place twin; `others` are its inputs after this one.
  Tensor& in_place(Opcode opcode, const std::vector<Tensor>& others, Attrs attrs, Where where = Where::current());

 private:
  Tracer* tracer_ = nullptr;
  ValueId id_;
};

/// The left operand of an operator, with the place of the call.
struct Operand {
  Operand(const Tensor& tensor_in, CallSite where_in = CallSite::current())  // NOLINT: implicit on purpose
      : tensor(tensor_in), where(where_in) {}
  const Tensor& tensor;
  CallSite where;
};

// Operands broadcast as in numpy; both must come from one tracer.
Tensor operator+(Operand x, const Tensor& y);
Tensor operator-(Operand x, const Tensor& y);
Tensor operator*(Operand x, const Tensor& y);
Tensor operator/(Operand x, const Tensor& y);
Tensor operator+(Operand x, double y);
Tensor operator-(Operand x, double y);
Tensor operator*(Operand x, double y);
Tensor operator/(Operand x, double y);
inline Tensor operator+(double x, Operand y) { return y + x; }
inline Tensor operator*(double x, Operand y) { return y * x; }
Tensor operator-(Operand x);
/// Elementwise comparisons give bool tensors.
Tensor operator<=(Operand x, const Tensor& y);
Tensor operator<(Operand x, const Tensor& y);

/// The user op called `name` with these fields; one tensor per output. UserError with the nearest name when there is none.
std::vector<Tensor> custom_op(std::string_view name, const std::vector<Tensor>& inputs, CustomFields fields = {},
                              Tensor::Where where = Tensor::Where::current());

Tensor cat(const std::vector<Tensor>& xs, std::int64_t dim, Tensor::Where where = Tensor::Where::current());
/// condition (bool) ? x : y
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y, Tensor::Where place = Tensor::Where::current());

}  // namespace reprise
