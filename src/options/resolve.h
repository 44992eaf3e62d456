// SPDX-License-Identifier: Apache-2.0
// From the words of a command line to resolved options: defaults, then the configuration file (or the resumed run's),
// then the command line, then the rules that tie options together.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "options/resolved_options.h"

namespace reprise {

/// What a command line asks for.
struct Invocation {
  enum class Kind { general_help, version, command };
  Kind kind = Kind::general_help;
  std::optional<ResolvedOptions> options;  // of kind command; flags `help` and `print_config` are among them
};

/// Reads the words after the program's name. UserError for anything unknown, missing, out of range or contradictory.
Invocation parse_invocation(std::span<const std::string> arguments);

/// Resolves the words after the command's name. With `--help` among them nothing else is checked; with `--print_config`
/// what is required may be missing.
ResolvedOptions resolve_options(Command command, std::span<const std::string> arguments);

}  // namespace reprise
