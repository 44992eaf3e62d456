// SPDX-License-Identifier: Apache-2.0
#include "io/toml.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/error.h"
#include "io/file_write.h"

namespace reprise {
namespace {

struct Placed {
  TomlEntry entry;
  std::int64_t column;
};

class Collector {
 public:
  explicit Collector(std::string_view name) : name_(name) {}

  void collect(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string path = prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str());
      if (const toml::table* inner = node.as_table()) {
        collect(*inner, path);
      } else {
        const auto begin = key.source().begin;
        placed_.push_back({{path, value(path, node), begin.line}, begin.column});
      }
    }
  }

  std::vector<TomlEntry> in_file_order() {
    std::sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) {
      return std::pair(a.entry.line, a.column) < std::pair(b.entry.line, b.column);
    });
    std::vector<TomlEntry> entries;
    for (Placed& placed : placed_) entries.push_back(std::move(placed.entry));
    return entries;
  }

 private:
  TomlValue value(const std::string& path, const toml::node& node) const {
    if (const toml::array* array = node.as_array()) {
      TomlList list;
      for (const toml::node& item : *array) list.push_back(scalar(path, item));
      return list;
    }
    return std::visit([](auto content) { return TomlValue(std::move(content)); }, scalar(path, node));
  }

  TomlScalar scalar(const std::string& path, const toml::node& node) const {
    if (const auto* boolean = node.as_boolean()) return boolean->get();
    if (const auto* integer = node.as_integer()) return integer->get();
    if (const auto* number = node.as_floating_point()) return number->get();
    if (const auto* string = node.as_string()) return string->get();
    const char* kind = node.is_table() ? "a table inside a list" : node.is_array() ? "a list inside a list" : "a date or time";
    throw UserError(fmt::format("{}:{}: key \"{}\" holds {}; use a boolean, number, string, or a list of those", name_,
                                node.source().begin.line, path, kind));
  }

  std::string_view name_;
  std::vector<Placed> placed_;
};

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 40> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view name) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    std::string reason(error.description());
    if (!reason.empty()) reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
    const auto begin = error.source().begin;
    throw UserError(fmt::format("{}:{}:{}: not valid TOML: {}", name, begin.line, begin.column, reason));
  }
  Collector collector(name);
  collector.collect(table, "");
  return collector.in_file_order();
}

std::vector<TomlEntry> read_toml(const std::filesystem::path& path) {
  return parse_toml(read_text_file(path), path == "-" ? "standard input" : path.string());
}

std::string write_toml_value(const TomlValue& value) {
  return std::visit(
      [](const auto& content) -> std::string {
        using Content = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<Content, bool>) {
          return content ? "true" : "false";
        } else if constexpr (std::is_same_v<Content, std::int64_t>) {
          return std::to_string(content);
        } else if constexpr (std::is_same_v<Content, double>) {
          return number_text(content);
        } else if constexpr (std::is_same_v<Content, std::string>) {
          return quoted_text(content);
        } else {
          std::string text = "[";
          for (const TomlScalar& item : content) {
            if (text.size() > 1) text += ", ";
            text += std::visit([](const auto& inner) { return write_toml_value(TomlValue(inner)); }, item);
          }
          return text + "]";
        }
      },
      value);
}

}  // namespace reprise
