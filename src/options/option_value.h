// SPDX-License-Identifier: Apache-2.0
// From the text of an option, or its value in a TOML file, to a checked value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/toml.h"
#include "options/option.h"

namespace reprise {

/// flag: bool; integer, count, size: int64; number, duration: double; text, path, choice: string; list, paths: vector.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// Parses `text` for `row` and checks range and choices. UserError starting with `where` ("--max_steps", "run.toml:3: max_steps").
OptionValue parse_option_value(const OptionRow& row, std::string_view text, std::string_view where);
/// The same from a TOML value, which must be of a fitting type.
OptionValue option_value_of(const OptionRow& row, const TomlValue& value, std::string_view where);
/// The TOML value that reads back as `value`.
TomlValue toml_value_of(const OptionValue& value);

}  // namespace reprise
