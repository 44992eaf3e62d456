// SPDX-License-Identifier: Apache-2.0
// The one table of options and the one of commands.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "options/option.h"

namespace reprise {

/// All commands, in the order help lists them.
std::span<const CommandRow> command_table();
const CommandRow& command_row(Command command);
std::optional<Command> find_command(std::string_view name);

/// All rows. A name may have several, for different commands with different defaults or help.
const std::vector<OptionRow>& option_table();
/// The rows of one command, in table order.
std::vector<const OptionRow*> options_of(Command command);
/// The row of `command` with this name or alias, or null.
const OptionRow* find_option(Command command, std::string_view name);

std::string_view group_title(OptionGroup group);
/// The word that stands for the value in help: "N", "FILE", "cosine|linear"; empty for a flag.
std::string_view placeholder_of(const OptionRow& row);
/// Splits at `separator`; an empty text gives nothing.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace reprise
