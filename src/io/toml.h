// SPDX-License-Identifier: Apache-2.0
// TOML configuration files as a flat list of dotted keys with their values and lines, in the order of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reprise {

using TomlScalar = std::variant<bool, std::int64_t, double, std::string>;
using TomlList = std::vector<TomlScalar>;
using TomlValue = std::variant<bool, std::int64_t, double, std::string, TomlList>;

/// `key = value` at `line` (from 1); keys of tables are joined with dots: "model.n_layers".
struct TomlEntry {
  std::string key;
  TomlValue value;
  std::int64_t line = 0;
};

/// Parses a whole text. UserError naming `name` and line for a syntax error, and also the key for what configuration has
/// no use for: dates, times, tables or lists inside a list.
std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view name);
/// Reads and parses a file; "-" is standard input.
std::vector<TomlEntry> read_toml(const std::filesystem::path& path);

/// Returns the TOML spelling of a value; it reads back equal.
std::string write_toml_value(const TomlValue& value);

}  // namespace reprise
