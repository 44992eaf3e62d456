// SPDX-License-Identifier: Apache-2.0
#include "options/option_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/nearest.h"
#include "options/option_table.h"

namespace reprise {
namespace {

[[noreturn]] void fail(std::string_view where, const std::string& what) {
  throw UserError(fmt::format("{}: {}", where, what));
}

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_finite(std::string_view text) {
  const std::optional<double> value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array<Unit, 4> kCountUnits{{{"", 1}, {"k", 1'000}, {"M", 1'000'000}, {"B", 1'000'000'000}}};
constexpr std::array<Unit, 10> kSizeUnits{{{"", 1},
                                           {"B", 1},
                                           {"kB", 1'000},
                                           {"MB", 1'000'000},
                                           {"GB", 1'000'000'000},
                                           {"TB", 1'000'000'000'000},
                                           {"KiB", std::int64_t{1} << 10},
                                           {"MiB", std::int64_t{1} << 20},
                                           {"GiB", std::int64_t{1} << 30},
                                           {"TiB", std::int64_t{1} << 40}}};
constexpr std::array<Unit, 5> kDurationUnits{{{"", 1}, {"s", 1}, {"m", 60}, {"h", 3'600}, {"d", 86'400}}};

/// The number at the start of `text` and the factor of the unit after it; nothing when either is unknown.
struct Measured {
  std::string_view digits;
  std::int64_t factor;
};

std::optional<Measured> split_unit(std::string_view text, std::span<const Unit> units) {
  const std::size_t end = std::min(text.find_first_not_of("+-.0123456789"), text.size());
  for (const Unit& unit : units) {
    if (end > 0 && text.substr(end) == unit.name) return Measured{text.substr(0, end), unit.factor};
  }
  return std::nullopt;
}

/// A whole number of units; a fraction is allowed where the product is whole, as in 1.5GB.
std::optional<std::int64_t> parse_scaled(std::string_view text, std::span<const Unit> units) {
  const std::optional<Measured> measured = split_unit(text, units);
  if (!measured) return std::nullopt;
  if (const auto whole = parse_whole<std::int64_t>(measured->digits)) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(*whole, measured->factor, &product)) return std::nullopt;
    return product;
  }
  const auto fraction = parse_finite(measured->digits);
  if (!fraction) return std::nullopt;
  const double product = *fraction * static_cast<double>(measured->factor);
  if (product != std::floor(product) || std::abs(product) > 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(product);
}

std::optional<double> parse_duration(std::string_view text) {
  const std::optional<Measured> measured = split_unit(text, kDurationUnits);
  if (!measured) return std::nullopt;
  const std::optional<double> value = parse_finite(measured->digits);
  return value ? std::optional(*value * static_cast<double>(measured->factor)) : std::nullopt;
}

template <class Number>
Number in_range(const OptionRow& row, Number value, std::string_view text, std::string_view where) {
  const auto real = static_cast<double>(value);
  const bool low = row.minimum_excluded ? real <= row.minimum : real < row.minimum;
  if (!low && real <= row.maximum) return value;
  std::string allowed;
  if (std::isfinite(row.minimum)) allowed = fmt::format("{} {}", row.minimum_excluded ? "above" : "at least", row.minimum);
  if (std::isfinite(row.maximum)) allowed += fmt::format("{}at most {}", allowed.empty() ? "" : " and ", row.maximum);
  fail(where, fmt::format("{} is out of range; give {}", text, allowed));
}

std::string one_of(const OptionRow& row, std::string_view text, std::string_view where) {
  const std::vector<std::string_view> choices = split(row.choices, '|');
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    fail(where, fmt::format("\"{}\" is not available; choose {}{}", text, fmt::join(choices, ", "), nearest_hint(text, choices)));
  }
  return std::string(text);
}

std::vector<std::string> checked_list(const OptionRow& row, std::vector<std::string> items, std::string_view where) {
  if (items.empty()) fail(where, "the list is empty; leave the option out or give an item");
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].empty()) fail(where, "the list has an empty item; remove it");
    if (!row.choices.empty()) one_of(row, items[i], where);
    const auto at = items.begin() + static_cast<std::ptrdiff_t>(i);
    if (row.kind == OptionKind::list && std::find(items.begin(), at, *at) != at) {
      fail(where, fmt::format("\"{}\" stands twice in the list; remove one", *at));
    }
  }
  return items;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string_view item : split(text, ',')) items.emplace_back(item);
  if (text.ends_with(',')) items.emplace_back();
  return items;
}

bool parse_flag(std::string_view text, std::string_view where) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  fail(where, fmt::format("\"{}\" is neither True nor False", text));
}

template <class Value>
Value require(std::optional<Value> value, std::string_view text, std::string_view where, std::string_view wanted) {
  if (!value) fail(where, fmt::format("\"{}\" is not {}", text, wanted));
  return *value;
}

/// A TOML value that is no list, as it would stand on the command line.
std::string scalar_text(const TomlScalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar)) return *text;
  return std::visit([](const auto& value) { return write_toml_value(TomlValue(value)); }, scalar);
}

std::string_view toml_kind(const TomlValue& value) {
  constexpr std::array<std::string_view, 5> kNames{"a boolean", "an integer", "a number", "a string", "a list"};
  return kNames[value.index()];
}

std::string_view wanted_kind(OptionKind kind) {
  switch (kind) {
    case OptionKind::flag: return "true or false";
    case OptionKind::integer: return "an integer";
    case OptionKind::number: return "a number";
    case OptionKind::count: return "an integer, or a string such as \"1.5M\"";
    case OptionKind::size: return "a number of bytes, or a string such as \"24GB\"";
    case OptionKind::duration: return "a number of seconds, or a string such as \"30m\"";
    case OptionKind::text: return "a string or number";
    case OptionKind::path:
    case OptionKind::choice: return "a string";
    case OptionKind::list:
    case OptionKind::paths: return "a string or a list of strings";
  }
  return "";
}

bool fits(OptionKind kind, const TomlValue& value) {
  const bool integer = std::holds_alternative<std::int64_t>(value);
  const bool number = integer || std::holds_alternative<double>(value);
  const bool string = std::holds_alternative<std::string>(value);
  switch (kind) {
    case OptionKind::flag: return std::holds_alternative<bool>(value);
    case OptionKind::integer: return integer;
    case OptionKind::number: return number;
    case OptionKind::count:
    case OptionKind::size: return integer || string;
    case OptionKind::duration:
    case OptionKind::text: return number || string;
    case OptionKind::path:
    case OptionKind::choice: return string;
    case OptionKind::list:
    case OptionKind::paths: return string || std::holds_alternative<TomlList>(value);
  }
  return false;
}

}  // namespace

OptionValue parse_option_value(const OptionRow& row, std::string_view text, std::string_view where) {
  switch (row.kind) {
    case OptionKind::flag: return parse_flag(text, where);
    case OptionKind::integer:
      return in_range(row, require(parse_whole<std::int64_t>(text), text, where, "an integer"), text, where);
    case OptionKind::number: return in_range(row, require(parse_finite(text), text, where, "a number"), text, where);
    case OptionKind::count:
      return in_range(row, require(parse_scaled(text, kCountUnits), text, where, "a count; write it as 1500000 or 1.5M (k, M, B)"),
                      text, where);
    case OptionKind::size:
      return in_range(row, require(parse_scaled(text, kSizeUnits), text, where,
                                   "a size; write bytes, or a number with kB MB GB TB (powers of 1000) or KiB MiB GiB TiB (of 1024)"),
                      text, where);
    case OptionKind::duration:
      return in_range(row, require(parse_duration(text), text, where, "a time; write seconds, or a number with s, m, h or d"), text, where);
    case OptionKind::text: return std::string(text);
    case OptionKind::path:
      if (text.empty()) fail(where, "the path is empty");
      return std::string(text);
    case OptionKind::choice: return one_of(row, text, where);
    case OptionKind::list: return checked_list(row, split_list(text), where);
    case OptionKind::paths: return checked_list(row, {std::string(text)}, where);
  }
  throw InternalError("an option kind has no parser");
}

OptionValue option_value_of(const OptionRow& row, const TomlValue& value, std::string_view where) {
  if (!fits(row.kind, value)) fail(where, fmt::format("must be {}, not {}", wanted_kind(row.kind), toml_kind(value)));
  if (const auto* list = std::get_if<TomlList>(&value)) {
    std::vector<std::string> items;
    for (const TomlScalar& item : *list) {
      if (!std::holds_alternative<std::string>(item)) fail(where, fmt::format("must be {}", wanted_kind(row.kind)));
      items.push_back(std::get<std::string>(item));
    }
    return checked_list(row, std::move(items), where);
  }
  if (row.kind == OptionKind::number && std::holds_alternative<double>(value)) {
    const double number = std::get<double>(value);
    if (!std::isfinite(number)) fail(where, fmt::format("{} is not a number", write_toml_value(value)));
    return in_range(row, number, write_toml_value(value), where);
  }
  const auto to_scalar = [](const auto& content) -> TomlScalar {
    if constexpr (std::is_same_v<std::decay_t<decltype(content)>, TomlList>) {
      return {};
    } else {
      return content;
    }
  };
  return parse_option_value(row, scalar_text(std::visit(to_scalar, value)), where);
}

TomlValue toml_value_of(const OptionValue& value) {
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) return TomlList(items->begin(), items->end());
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::get<std::string>(value);
}

}  // namespace reprise
