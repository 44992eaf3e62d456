// SPDX-License-Identifier: Apache-2.0
// Splits the words of a command line into options and their texts, by the table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/option.h"
#include "options/option_value.h"

namespace reprise {

/// One option as written: `where` names it in errors ("--max_steps", "MODEL").
struct GivenOption {
  const OptionRow* row = nullptr;
  OptionValue value;
  std::string where;
};

/// Parses options and positional words of `command`. Dashes and underscores in names are the same.
std::vector<GivenOption> parse_command_line(Command command, std::span<const std::string> words);

}  // namespace reprise
