// SPDX-License-Identifier: Apache-2.0
#include "nn/tensor.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "nn/tracer.h"
#include "ops/builders.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

ValueId same_tracer(const Tensor& x, const Tensor& y) {
  if (&x.tracer() != &y.tracer()) throw UserError("the operands come from two tracers; make both inside one trace");
  return y.id();
}

Tensor binary(const Operand& x, Opcode opcode, const Tensor& y) {
  const ValueId other = same_tracer(x.tensor, y);
  return {x.tensor.tracer(), ops::binary(x.tensor.tracer().at(x.where), opcode, x.tensor.id(), other)};
}

}  // namespace

Tracer& Tensor::tracer() const {
  if (!valid()) throw UserError("a tensor is used that no trace made; make it of the inputs");
  return *tracer_;
}

TensorType Tensor::type() const { return tracer().trace().type(id_); }

Tensor Tensor::reshape(const Shape& shape, Where where) const { return {tracer(), ops::reshape(tracer().at(where), id_, shape)}; }

Tensor Tensor::expand(const Shape& shape, Where where) const { return {tracer(), ops::expand(tracer().at(where), id_, shape)}; }

Tensor Tensor::permute(Ints order, Where where) const {
  return {tracer(), ops::permute(tracer().at(where), id_, std::move(order))};
}

Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1, Where where) const {
  return {tracer(), ops::transpose(tracer().at(where), id_, dim0, dim1)};
}

Tensor Tensor::slice(std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step, Where where) const {
  return {tracer(), ops::slice(tracer().at(where), id_, dim, start, stop, step)};
}

Tensor Tensor::select(std::int64_t dim, std::int64_t index, Where where) const {
  return {tracer(), ops::select(tracer().at(where), id_, dim, index)};
}

Tensor Tensor::squeeze(Ints dims, Where where) const { return {tracer(), ops::squeeze(tracer().at(where), id_, std::move(dims))}; }

Tensor Tensor::unsqueeze(Ints dims, Where where) const {
  return {tracer(), ops::unsqueeze(tracer().at(where), id_, std::move(dims))};
}

std::vector<Tensor> Tensor::split(std::int64_t dim, const Ints& sizes, Where where) const {
  std::vector<Tensor> parts;
  for (const ValueId part : ops::split(tracer().at(where), id_, dim, sizes)) parts.emplace_back(tracer(), part);
  return parts;
}

Tensor Tensor::matmul(const Tensor& other, bool transpose_this, bool transpose_other, Where where) const {
  const ValueId y = same_tracer(*this, other);
  return {tracer(), ops::matmul(tracer().at(where), id_, y, transpose_this, transpose_other)};
}

Tensor Tensor::sum(std::optional<Ints> dims, bool keepdim, Where where) const {
  return {tracer(), ops::sum(tracer().at(where), id_, std::move(dims), keepdim)};
}

Tensor Tensor::mean(std::optional<Ints> dims, bool keepdim, Where where) const {
  return {tracer(), ops::mean(tracer().at(where), id_, std::move(dims), keepdim)};
}

Tensor Tensor::softmax(std::int64_t dim, Where where) const { return {tracer(), ops::softmax(tracer().at(where), id_, dim)}; }

Tensor Tensor::log_softmax(std::int64_t dim, Where where) const {
  return {tracer(), ops::log_softmax(tracer().at(where), id_, dim)};
}

Tensor Tensor::unary(Opcode opcode, Where where) const { return {tracer(), ops::unary(tracer().at(where), opcode, id_)}; }

Tensor Tensor::gelu(bool tanh_form, Where where) const { return {tracer(), ops::gelu(tracer().at(where), id_, tanh_form)}; }

Tensor Tensor::pow(double exponent, Where where) const { return {tracer(), ops::pow_scalar(tracer().at(where), id_, exponent)}; }

Tensor Tensor::cast(DType dtype, Where where) const { return {tracer(), ops::cast(tracer().at(where), id_, dtype)}; }

Tensor Tensor::dropout(double p, Where where) const {
  return p == 0 ? *this : Tensor{tracer(), ops::dropout(tracer().at(where), id_, p)};
}

Tensor Tensor::index_select(std::int64_t dim, const Tensor& index, Where where) const {
  const ValueId i = same_tracer(*this, index);
  return {tracer(), ops::index_select(tracer().at(where), id_, dim, i)};
}

Tensor Tensor::gather(std::int64_t dim, const Tensor& index, Where where) const {
  const ValueId i = same_tracer(*this, index);
  return {tracer(), ops::gather(tracer().at(where), id_, dim, i)};
}

Tensor Tensor::scatter(std::int64_t dim, const Tensor& index, const Tensor& source, Where where) const {
  const ValueId i = same_tracer(*this, index);
  const ValueId s = same_tracer(*this, source);
  return {tracer(), ops::scatter(tracer().at(where), id_, dim, i, s)};
}

Tensor Tensor::embedding(const Tensor& index, Where where) const {
  const ValueId i = same_tracer(*this, index);
  return {tracer(), ops::embedding(tracer().at(where), id_, i)};
}

Tensor& Tensor::in_place(Opcode opcode, const std::vector<Tensor>& others, Attrs attrs, Where where) {
  std::vector<ValueId> inputs = {id_};
  for (const Tensor& other : others) inputs.push_back(same_tracer(*this, other));
  id_ = tracer().at(where).emit_in_place(opcode, std::move(inputs), std::move(attrs));
  return *this;
}

Tensor operator+(Operand x, const Tensor& y) { return binary(x, op::add, y); }
Tensor operator-(Operand x, const Tensor& y) { return binary(x, op::sub, y); }
Tensor operator*(Operand x, const Tensor& y) { return binary(x, op::mul, y); }
Tensor operator/(Operand x, const Tensor& y) { return binary(x, op::div, y); }
Tensor operator<=(Operand x, const Tensor& y) { return binary(x, op::le, y); }
Tensor operator<(Operand x, const Tensor& y) { return binary(x, op::lt, y); }

Tensor operator+(Operand x, double y) {
  return {x.tensor.tracer(), ops::add_scalar(x.tensor.tracer().at(x.where), x.tensor.id(), y)};
}
Tensor operator-(Operand x, double y) { return x + -y; }
Tensor operator*(Operand x, double y) {
  return {x.tensor.tracer(), ops::mul_scalar(x.tensor.tracer().at(x.where), x.tensor.id(), y)};
}
Tensor operator/(Operand x, double y) {
  return {x.tensor.tracer(), ops::div_scalar(x.tensor.tracer().at(x.where), x.tensor.id(), y)};
}
Tensor operator-(Operand x) { return x.tensor.unary(op::neg, x.where); }

std::vector<Tensor> custom_op(std::string_view name, const std::vector<Tensor>& inputs, CustomFields fields, Tensor::Where where) {
  if (inputs.empty()) throw UserError(fmt::format("an op needs an input to know its trace by: {}", name));
  const std::optional<Opcode> opcode = find_opcode(name);
  if (!opcode || !is_user_op(*opcode)) {
    std::vector<std::string_view> names;
    for (std::size_t i = kBuiltinOpcodeCount; i < opcode_count(); ++i) names.push_back(opcode_name(Opcode{static_cast<std::uint16_t>(i)}));
    throw UserError(fmt::format("there is no user op '{}'{}; register it first", name, nearest_hint(name, names)));
  }
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) ids.push_back(same_tracer(inputs.front(), input));
  Tracer& tracer = inputs.front().tracer();
  std::vector<Tensor> outputs;
  for (const ValueId output : tracer.at(where).emit_all(*opcode, std::move(ids), CustomAttrs{"", std::move(fields)})) {
    outputs.emplace_back(tracer, output);
  }
  return outputs;
}

Tensor cat(const std::vector<Tensor>& xs, std::int64_t dim, Tensor::Where where) {
  REPRISE_CHECK(!xs.empty(), "cat of nothing");
  std::vector<ValueId> ids;
  for (const Tensor& x : xs) ids.push_back(same_tracer(xs.front(), x));
  Tracer& tracer = xs.front().tracer();
  return {tracer, ops::cat(tracer.at(where), std::move(ids), dim)};
}

Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y, Tensor::Where place) {
  const ValueId a = same_tracer(condition, x);
  const ValueId b = same_tracer(condition, y);
  return {condition.tracer(), ops::where(condition.tracer().at(place), condition.id(), a, b)};
}

}  // namespace reprise
