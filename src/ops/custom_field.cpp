// SPDX-License-Identifier: Apache-2.0
#include "ops/custom_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/error.h"
#include "base/nearest.h"

namespace reprise {
namespace {

template <class T>
constexpr std::string_view kind_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, std::int64_t>) return "an integer";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  if constexpr (std::is_same_v<T, Ints>) return "a list of integers";
  if constexpr (std::is_same_v<T, std::vector<double>>) return "a list of numbers";
}

const CustomValue* find_field(const Node& node, std::string_view name) {
  for (const auto& [field, value] : node.as<CustomAttrs>().fields) {
    if (field == name) return &value;
  }
  return nullptr;
}

template <class T>
T value_as(const Node& node, std::string_view name, const CustomValue& value) {
  if (const T* const exact = std::get_if<T>(&value)) return *exact;
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  }
  throw UserError(fmt::format("{}: field '{}' must be {}", opcode_name(node.opcode), name, kind_name<T>()));
}

}  // namespace

template <class T>
T custom_field(const Node& node, std::string_view name) {
  const CustomValue* const value = find_field(node, name);
  if (value == nullptr) throw UserError(fmt::format("{}: needs the field '{}', {}", opcode_name(node.opcode), name, kind_name<T>()));
  return value_as<T>(node, name, *value);
}

template <class T>
T custom_field(const Node& node, std::string_view name, T otherwise) {
  const CustomValue* const value = find_field(node, name);
  return value == nullptr ? otherwise : value_as<T>(node, name, *value);
}

void require_known_fields(const Node& node, std::initializer_list<std::string_view> known) {
  const std::vector<std::string_view> names(known);
  for (const auto& [field, value] : node.as<CustomAttrs>().fields) {
    if (std::find(names.begin(), names.end(), field) != names.end()) continue;
    throw UserError(fmt::format("{}: there is no field '{}'{}", opcode_name(node.opcode), field, nearest_hint(field, names)));
  }
}

#define REPRISE_CUSTOM_FIELD(T)                                 \
  template T custom_field<T>(const Node&, std::string_view);    \
  template T custom_field<T>(const Node&, std::string_view, T)
REPRISE_CUSTOM_FIELD(bool);
REPRISE_CUSTOM_FIELD(std::int64_t);
REPRISE_CUSTOM_FIELD(double);
REPRISE_CUSTOM_FIELD(std::string);
REPRISE_CUSTOM_FIELD(Ints);
REPRISE_CUSTOM_FIELD(std::vector<double>);
#undef REPRISE_CUSTOM_FIELD

}  // namespace reprise
