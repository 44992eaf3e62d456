// SPDX-License-Identifier: Apache-2.0
// What printer, parser and CSE share about attribute fields: a walk over them, names of their enums, and equality by bits
// (0 and -0 differ, a NaN equals itself), which is the equality of traces.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "ir/attrs.h"

namespace reprise {

/// Names of an enum's values, in order. An enum used in attributes specialises this.
template <class Enum>
struct EnumNames;
template <>
struct EnumNames<RopeLayout> {
  static constexpr std::array<std::string_view, 3> names = {"half", "interleaved", "gathered"};
};
template <>
struct EnumNames<Rounding> {
  static constexpr std::array<std::string_view, 2> names = {"nearest", "stochastic"};
};

/// Calls `f(name, field)` for every field of one attribute struct; fields are const.
template <class Struct, class F>
void for_each_field(const Struct& attrs, F&& f) {
  const auto as_const = [&](std::string_view name, auto& field) { f(name, std::as_const(field)); };
  const_cast<Struct&>(attrs).visit(as_const);  // `visit` serves reader and writer; this one only reads
}

/// Calls `f(name, field)` for every field, to be set.
template <class F>
void for_each_field_mutable(Attrs& attrs, F&& f) {
  std::visit([&](auto& family) { family.visit(f); }, attrs);
}

/// Equal by bits: full of 0 is not full of -0.
bool attrs_equal(const Attrs& a, const Attrs& b);
/// A hash that agrees with attrs_equal and is the same in every process.
std::size_t attrs_hash(const Attrs& attrs);

bool field_equal(double a, double b);
bool field_equal(const std::optional<double>& a, const std::optional<double>& b);
bool field_equal(const CustomFields& a, const CustomFields& b);
template <class T>
bool field_equal(const T& a, const T& b) {
  return a == b;
}

}  // namespace reprise
