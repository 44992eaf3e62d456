// SPDX-License-Identifier: Apache-2.0
// The rules of simplification, small ones first. Each must keep every bit of the result, NaN and -0 included.
#include "passes/simplify_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "interpreter/interpreter.h"
#include "ir/explicit_tag.h"
#include "ops/builders.h"
#include "ops/op_table.h"

namespace reprise {

const Node* RuleContext::made_by(Opcode opcode, std::size_t i) const {
  const Trace& to = rewriter.to();
  const NodeId producer = to[inputs[i]].producer;
  return producer.valid() && to[producer].opcode == opcode ? &to[producer] : nullptr;
}

const Node* RuleContext::past(Opcode opcode, std::size_t i) const {
  const std::vector<Tag>& tags = rewriter.to()[inputs[i]].tags;
  const bool wanted = std::any_of(tags.begin(), tags.end(), is_explicit);
  return wanted ? nullptr : made_by(opcode, i);
}

namespace {

using Result = std::optional<ValueId>;

// ---- numbers -----------------------------------------------------------------------------------------------------

/// Whether every value of `from` is one of `to`, so that a cast there keeps it.
bool widens(DType from, DType to) {
  if (from == to) return true;
  switch (from) {
    case DType::bfloat16:
    case DType::float16: return to == DType::float32 || to == DType::float64;
    case DType::float32: return to == DType::float64;
    case DType::boolean:
    case DType::int32: return to == DType::int64;
    default: return false;
  }
}

Result cast_to_itself(const RuleContext& c) {
  return c.in_type().dtype == c.out_type().dtype ? Result(c.x()) : std::nullopt;
}

Result cast_of_widening_cast(const RuleContext& c) {
  const Node* const inner = c.past(op::cast);
  if (inner == nullptr) return std::nullopt;
  const ValueId source = inner->inputs[0];
  if (!widens(c.b().dtype(source), c.in_type().dtype)) return std::nullopt;
  return ops::cast(c.b(), source, c.out_type().dtype);
}

Result times_one(const RuleContext& c) { return c.node.as<ScalarAttrs>().value == 1 ? Result(c.x()) : std::nullopt; }

Result plus_minus_zero(const RuleContext& c) {
  const double value = c.node.as<ScalarAttrs>().value;
  const bool exact = value == 0 && (std::signbit(value) || !is_floating(c.in_type().dtype));
  return exact ? Result(c.x()) : std::nullopt;
}

Result its_own_inverse(const RuleContext& c) {
  const Node* const inner = c.past(c.node.opcode);
  if (inner == nullptr) return std::nullopt;
  const ValueId source = inner->inputs[0];
  return c.b().dtype(source) == c.out_type().dtype ? Result(source) : std::nullopt;
}

Result twice_is_once(const RuleContext& c) { return c.made_by(c.node.opcode) != nullptr ? Result(c.x()) : std::nullopt; }

Result abs_of_neg(const RuleContext& c) {
  const Node* const inner = c.past(op::neg);
  if (inner == nullptr) return std::nullopt;
  return c.b().emit(op::abs, {inner->inputs[0]});
}

Result where_of_equals(const RuleContext& c) {
  const bool same = c.inputs[1] == c.inputs[2] && c.in_type(1) == c.out_type();
  return same ? Result(c.inputs[1]) : std::nullopt;
}

// ---- views -------------------------------------------------------------------------------------------------------

/// The node that makes the input, if it only regroups the dimensions: elements keep their row-major order.
const Node* made_by_regrouping(const RuleContext& c) {
  for (const Opcode opcode : {op::reshape, op::squeeze, op::unsqueeze}) {
    if (const Node* const inner = c.past(opcode)) return inner;
  }
  return nullptr;
}

Result shape_unchanged(const RuleContext& c) { return c.in_type() == c.out_type() ? Result(c.x()) : std::nullopt; }

Result regrouped_twice(const RuleContext& c) {
  const Node* const inner = made_by_regrouping(c);
  if (inner == nullptr) return std::nullopt;
  const ValueId source = inner->inputs[0];
  if (c.b().type(source) == c.out_type()) return source;
  if (c.node.opcode != op::reshape) return std::nullopt;
  return c.b().emit(op::reshape, {source}, ShapeAttrs{c.out_type().shape, c.out_type().dtype});
}

Result expanded_twice(const RuleContext& c) {
  const Node* const inner = c.past(op::expand);
  if (inner == nullptr) return std::nullopt;
  return c.b().emit(op::expand, {inner->inputs[0]}, c.node.attrs);
}

/// The order with every dimension in [0, rank).
Ints wrapped(const Ints& order) {
  Ints result = order;
  for (std::int64_t& dim : result) dim += dim < 0 ? static_cast<std::int64_t>(order.size()) : 0;
  return result;
}

bool identity(const Ints& order) {
  Ints sorted(order.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  return order == sorted;
}

Result permuted_by_nothing(const RuleContext& c) {
  return identity(wrapped(c.node.as<DimsAttrs>().dims)) ? Result(c.x()) : std::nullopt;
}

Result permuted_twice(const RuleContext& c) {
  const Node* const inner = c.past(op::permute);
  if (inner == nullptr) return std::nullopt;
  const Ints first = wrapped(inner->as<DimsAttrs>().dims);
  const ValueId source = inner->inputs[0];
  Ints both;
  for (const std::int64_t dim : wrapped(c.node.as<DimsAttrs>().dims)) both.push_back(first[static_cast<std::size_t>(dim)]);
  return identity(both) ? source : ops::permute(c.b(), source, both);
}

Result sliced_twice(const RuleContext& c) {
  const Node* const inner = c.past(op::slice);
  if (inner == nullptr) return std::nullopt;
  const Shape& shape = c.in_type().shape;
  const SliceAttrs first = inner->as<SliceAttrs>();
  const SliceAttrs second = c.node.as<SliceAttrs>();
  const std::size_t dim = shape.wrap(second.dim);
  if (shape.wrap(first.dim) != dim) return std::nullopt;
  const std::int64_t count = c.out_type().shape[dim];
  SliceAttrs both{static_cast<std::int64_t>(dim), first.start + second.start * first.step, 0, first.step * second.step};
  both.stop = count == 0 ? both.start : both.start + (count - 1) * both.step + 1;
  return c.b().emit(op::slice, {inner->inputs[0]}, both);
}

// ---- data movement -----------------------------------------------------------------------------------------------

bool all_are(const Ints& list, std::int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](std::int64_t x) { return x == value; });
}

Result moves_nothing(const RuleContext& c) {
  if (c.in_type() != c.out_type()) return std::nullopt;
  bool nothing = false;
  if (c.node.opcode == op::flip) nothing = c.node.as<DimsAttrs>().dims.empty();
  if (c.node.opcode == op::roll) nothing = c.node.as<RollAttrs>().shift == 0;
  if (c.node.opcode == op::repeat) nothing = all_are(c.node.as<DimsAttrs>().dims, 1);
  if (c.node.opcode == op::pad) nothing = all_are(c.node.as<PadAttrs>().before, 0) && all_are(c.node.as<PadAttrs>().after, 0);
  if (c.node.opcode == op::cat) nothing = c.inputs.size() == 1;
  return nothing ? Result(c.x()) : std::nullopt;
}

Result flipped_twice(const RuleContext& c) {
  const Node* const inner = c.past(op::flip);
  if (inner == nullptr || inner->as<DimsAttrs>() != c.node.as<DimsAttrs>()) return std::nullopt;
  return inner->inputs[0];
}

// ---- collectives -------------------------------------------------------------------------------------------------

Result group_of_one(const RuleContext& c) { return c.node.as<CollectiveAttrs>().size == 1 ? Result(c.x()) : std::nullopt; }

Result wait_for_nothing(const RuleContext& c) {
  return c.made_by(op::all_reduce_start) == nullptr && c.in_type() == c.out_type() ? Result(c.x()) : std::nullopt;
}

// ---- constants ---------------------------------------------------------------------------------------------------

Result regrouped_constant(const RuleContext& c) {
  const Node* const inner = c.past(op::full);
  if (inner == nullptr) return std::nullopt;
  return ops::full(c.b(), c.out_type().shape, c.out_type().dtype, inner->as<FullAttrs>().value);
}

/// A pointwise op on equal numbers gives equal numbers: one is computed by `evaluate`.
Result constant_folded(const RuleContext& c) {
  if (c.node.inputs.empty() || c.node.opcode == op::philox_dropout) return std::nullopt;
  if (!has_trait(op_row(c.node.opcode).traits, Trait::pointwise)) return std::nullopt;
  Trace one;
  Builder b(one);
  std::vector<ValueId> numbers;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Node* const constant = c.past(op::full, i);
    if (constant == nullptr) return std::nullopt;
    numbers.push_back(ops::full(b, Shape{}, c.in_type(i).dtype, constant->as<FullAttrs>().value));
  }
  one.outputs = b.emit_like(c.node, numbers);
  const double value = interpret(one, {}).at(0).number();
  constexpr double exact_integers = 0x1p53;  // beyond, an int64 is not kept by the double of `full`
  const bool exact = is_floating(c.out_type().dtype) ? !std::isnan(value) : std::abs(value) < exact_integers;
  return exact ? Result(ops::full(c.b(), c.out_type().shape, c.out_type().dtype, value)) : std::nullopt;
}

}  // namespace

std::span<const Rule> simplify_rules() {
  static const std::vector<Rule> rules = {
      {"cast to itself", {op::cast}, cast_to_itself},
      {"cast of a widening cast", {op::cast}, cast_of_widening_cast},
      {"times one", {op::mul_scalar, op::div_scalar}, times_one},
      {"plus minus zero", {op::add_scalar}, plus_minus_zero},
      {"its own inverse", {op::neg, op::logical_not}, its_own_inverse},
      {"twice is once", {op::abs, op::relu, op::floor, op::round, op::sign}, twice_is_once},
      {"abs of neg", {op::abs}, abs_of_neg},
      {"where of equals", {op::where}, where_of_equals},
      {"shape unchanged", {op::reshape, op::expand, op::slice, op::squeeze, op::unsqueeze}, shape_unchanged},
      {"regrouped twice", {op::reshape, op::squeeze, op::unsqueeze}, regrouped_twice},
      {"expanded twice", {op::expand}, expanded_twice},
      {"permuted by nothing", {op::permute}, permuted_by_nothing},
      {"permuted twice", {op::permute}, permuted_twice},
      {"sliced twice", {op::slice}, sliced_twice},
      {"moves nothing", {op::flip, op::roll, op::repeat, op::pad, op::cat}, moves_nothing},
      {"flipped twice", {op::flip}, flipped_twice},
      {"group of one", {op::all_reduce, op::all_reduce_start}, group_of_one},
      {"wait for nothing", {op::wait}, wait_for_nothing},
      {"regrouped constant", {op::reshape, op::squeeze, op::unsqueeze, op::slice}, regrouped_constant},
      {"constant folded", {}, constant_folded},
  };
  return rules;
}

}  // namespace reprise
