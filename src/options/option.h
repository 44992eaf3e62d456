// SPDX-License-Identifier: Apache-2.0
// What an option is: one row of the table. Help, command line, configuration files, completions and the reference
// documents are all made from these rows.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace reprise {

enum class Command : std::uint8_t { train, generate, eval, bench, plan, explain, trace, run_trace, models, info, export_model, completion };

/// A set of commands, one bit each.
using CommandSet = std::uint32_t;

constexpr CommandSet only(Command command) { return CommandSet{1} << static_cast<unsigned>(command); }
constexpr bool contains(CommandSet set, Command command) { return (set & only(command)) != 0; }

enum class OptionKind : std::uint8_t {
  flag,      // --x, --no_x, --x True|False
  integer,   // 64-bit
  number,    // double
  count,     // integer, with k, M, B for powers of 1000: 1.5M
  size,      // bytes, with kB MB GB TB (powers of 1000) or KiB MiB GiB TiB (of 1024)
  duration,  // seconds, with s, m, h, d: 90m
  text,
  path,      // a file or folder
  choice,    // one of `choices`
  list,      // separated by commas
  paths,     // files or folders, separated by spaces; the option may be repeated
};

/// Headings of the help text, in the order shown.
enum class OptionGroup : std::uint8_t { model, data, output, schedule, optimizer, numerics, execution, sampling, measurement, general };

struct OptionRow {
  std::string_view name;  // snake_case; also the TOML and JSON key
  OptionKind kind = OptionKind::text;
  OptionGroup group = OptionGroup::general;
  CommandSet commands = 0;
  std::string_view default_text = {};  // as on the command line; empty: not set
  std::string_view placeholder = {};   // the value in help: "N", "FILE"; empty: by kind
  std::string_view choices = {};       // allowed values (of a list: items), separated by |
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false;
  std::string_view aliases = {};       // other names on the command line, separated by spaces
  bool command_line_only = false;      // no key of a configuration file
  bool changes_on_resume = false;      // a resumed run may give another value
  std::string_view help = {};          // one sentence, lower case, no full stop
};

struct CommandRow {
  Command command;
  std::string_view name;        // "run-trace"
  std::string_view positional;  // the option its first bare word sets; empty: takes none
  bool positional_required;
  std::string_view usage;       // what follows the name in a usage line
  std::string_view summary;     // one line, lower case
  std::string_view second_positional = {};  // the option its second bare word sets; empty: takes no second
};

}  // namespace reprise
