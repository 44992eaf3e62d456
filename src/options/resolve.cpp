// SPDX-License-Identifier: Apache-2.0
#include "options/resolve.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/nearest.h"
#include "io/toml.h"
#include "options/command_line.h"
#include "options/option_rules.h"
#include "options/option_table.h"

namespace reprise {
namespace {

const GivenOption* find_given(const std::vector<GivenOption>& given, std::string_view name) {
  const auto found = std::find_if(given.begin(), given.end(), [&](const GivenOption& option) { return option.row->name == name; });
  return found == given.end() ? nullptr : &*found;
}

bool flag_given(const std::vector<GivenOption>& given, std::string_view name) {
  const GivenOption* option = find_given(given, name);
  return option != nullptr && std::get<bool>(option->value);
}

[[noreturn]] void fail_key(Command command, const std::string& file, const TomlEntry& entry) {
  const std::string where = fmt::format("{}:{}", file, entry.line);
  const std::string_view command_name = command_row(command).name;
  std::vector<std::string_view> names;
  for (const OptionRow* row : options_of(command)) {
    if (!row->command_line_only) names.push_back(row->name);
    if (row->command_line_only && row->name == entry.key) {
      throw UserError(fmt::format("{}: key \"{}\" is an option of the command line only; remove it", where, entry.key));
    }
  }
  for (const CommandRow& other : command_table()) {
    const OptionRow* row = find_option(other.command, entry.key);
    if (other.command != command && row != nullptr && row->name == entry.key) {
      throw UserError(fmt::format("{}: key \"{}\" belongs to {}, not to {}; remove it", where, entry.key, other.name, command_name));
    }
  }
  std::string remedy = nearest_hint(entry.key, names);
  if (remedy.empty()) remedy = fmt::format("; reprise {} --help lists the options", command_name);
  throw UserError(fmt::format("{}: unknown key \"{}\"{}", where, entry.key, remedy));
}

void apply_file(ResolvedOptions& options, const std::filesystem::path& path) {
  const std::string file = path == "-" ? "standard input" : path.string();
  for (const TomlEntry& entry : read_toml(path)) {
    const OptionRow* row = find_option(options.command(), entry.key);
    if (row == nullptr || row->name != entry.key || row->command_line_only) fail_key(options.command(), file, entry);
    const std::string origin = fmt::format("{}:{}", file, entry.line);
    options.set(row->name, option_value_of(*row, entry.value, fmt::format("{}: {}", origin, row->name)), OptionSource::file, origin);
  }
}

/// Takes over the options of the run that is resumed. Its folder is where it is now, not where it was.
void apply_resumed_run(ResolvedOptions& options, const std::vector<GivenOption>& given, const std::string& run) {
  for (const std::string_view other : {"config", "out"}) {
    if (find_given(given, other) == nullptr) continue;
    throw UserError(fmt::format("--resume and --{} exclude each other: the run in {} keeps its options and folder; leave --{} out",
                                other, run, other));
  }
  apply_file(options, std::filesystem::path(run) / "config.toml");
  options.set("out", run, OptionSource::file, "resume");
  std::vector<std::string> changed;
  for (const GivenOption& option : given) {
    if (option.row->changes_on_resume || option.row->command_line_only) continue;
    const ResolvedOption& before = options.option(option.row->name);
    if (before.value != option.value) changed.emplace_back(option.row->name);
  }
  if (changed.empty()) return;
  throw UserError(fmt::format("a resumed run may not change {}; leave {} out, or start another run with --out",
                              fmt::join(changed, ", "), changed.size() == 1 ? "it" : "them"));
}

}  // namespace

ResolvedOptions resolve_options(Command command, std::span<const std::string> arguments) {
  ResolvedOptions options(command);
  // Help is given even for a line that is wrong elsewhere.
  const auto end_of_options = std::find(arguments.begin(), arguments.end(), "--");
  const bool help =
      std::any_of(arguments.begin(), end_of_options, [](const std::string& word) { return word == "--help" || word == "-h"; });
  if (help) {
    options.set("help", true, OptionSource::command_line, "command line");
    return options;
  }
  const std::vector<GivenOption> given = parse_command_line(command, arguments);
  if (const GivenOption* run = find_given(given, "resume")) {
    apply_resumed_run(options, given, std::get<std::string>(run->value));
  } else if (const GivenOption* config = find_given(given, "config")) {
    apply_file(options, std::get<std::string>(config->value));
  }
  for (const GivenOption& option : given) options.set(option.row->name, option.value, OptionSource::command_line, "command line");
  apply_option_rules(options);
  if (!flag_given(given, "print_config")) require_options(options);
  return options;
}

Invocation parse_invocation(std::span<const std::string> arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") return {};
  const std::string& word = arguments[0];
  if (word == "--version") return {Invocation::Kind::version, {}};
  if (word.starts_with('-')) {
    throw UserError(fmt::format("the command comes first, not {}: reprise COMMAND [OPTIONS] (reprise --help lists the commands)", word));
  }
  std::string name = word;
  std::replace(name.begin(), name.end(), '_', '-');
  if (const std::optional<Command> command = find_command(name)) {
    return {Invocation::Kind::command, resolve_options(*command, arguments.subspan(1))};
  }
  std::vector<std::string_view> names;
  for (const CommandRow& row : command_table()) names.push_back(row.name);
  throw UserError(fmt::format("unknown command \"{}\"{} (reprise --help lists the commands)", word, nearest_hint(word, names)));
}

}  // namespace reprise
