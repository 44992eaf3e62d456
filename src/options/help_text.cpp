// SPDX-License-Identifier: Apache-2.0
#include "options/help_text.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "options/option_table.h"

namespace reprise {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kHelpColumn = 34;
constexpr std::string_view kSummary = "a training compiler for transformers";

/// "--schedule cosine|linear|constant|wsd", "--stream, --no_stream"; the positional stands without dashes in the usage line.
std::string spelling(const OptionRow& row) {
  if (row.kind != OptionKind::flag) return fmt::format("--{} {}", row.name, placeholder_of(row));
  return row.default_text == "True" ? fmt::format("--no_{}", row.name) : fmt::format("--{}", row.name);
}

/// The help sentence with aliases and default.
std::string description(const OptionRow& row) {
  std::string text(row.help);
  // A flag that is on by default is shown by the spelling that turns it off.
  if (row.kind == OptionKind::flag && row.default_text == "True") text = fmt::format("do not {}", row.help);
  if (row.kind == OptionKind::list && !row.choices.empty()) {
    std::string choices(row.choices);
    std::replace(choices.begin(), choices.end(), '|', ' ');
    text += fmt::format("; among {}", choices);
  }
  for (const std::string_view alias : split(row.aliases, ' ')) text += fmt::format(" [also --{}]", alias);
  if (!row.default_text.empty() && row.kind != OptionKind::flag) text += fmt::format(" [{}]", row.default_text);
  return text;
}

/// Breaks `text` at spaces into lines of at most `width`.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string two_columns(std::string_view left, std::string_view right) {
  std::string text = fmt::format("  {}", left);
  bool first = text.size() + 2 <= kHelpColumn;
  if (!first) text += '\n';
  for (const std::string& line : wrapped(right, kWidth - kHelpColumn)) {
    const std::size_t used = first ? text.size() : 0;
    text += std::string(kHelpColumn - used, ' ') + line + '\n';
    first = false;
  }
  return text;
}

std::string capitalised(std::string_view text) {
  std::string result(text);
  if (!result.empty() && result[0] >= 'a' && result[0] <= 'z') result[0] = static_cast<char>(result[0] - 'a' + 'A');
  return result;
}

std::string usage_line(const CommandRow& command) {
  return fmt::format("reprise {}{}{}", command.name, command.usage.empty() ? "" : " ", command.usage);
}

/// Calls `visit(group)` before the first row of each group and `visit(row)` for every row.
template <class OnGroup, class OnRow>
void for_each_option(Command command, const OnGroup& on_group, const OnRow& on_row) {
  std::optional<OptionGroup> group;
  for (const OptionRow* row : options_of(command)) {
    if (group != row->group) on_group(row->group);
    group = row->group;
    on_row(*row);
  }
}

/// Escapes what Markdown would read inside a table cell.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

/// Escapes what roff would read.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string general_help_text() {
  std::string text = fmt::format("reprise: {}\n\nUsage: reprise COMMAND [OPTIONS]\n\nCommands\n", kSummary);
  for (const CommandRow& command : command_table()) text += two_columns(command.name, command.summary);
  text += "\nGeneral\n";
  text += two_columns("COMMAND --help", "options of a command");
  text += two_columns("--version", "print the version and stop");
  return text;
}

std::string command_help_text(Command command) {
  const CommandRow& row = command_row(command);
  std::string text = fmt::format("{}\n\nUsage: {}\n", capitalised(row.summary), usage_line(row));
  for_each_option(
      command, [&](OptionGroup group) { text += fmt::format("\n{}\n", group_title(group)); },
      [&](const OptionRow& option) { text += two_columns(spelling(option), description(option)); });
  return text;
}

std::string reference_markdown() {
  std::string text =
      "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made from the option table; a test keeps it equal. -->\n"
      "# The command line\n\n"
      "An option, its key in a TOML file and its key in JSON are the same word; dashes are accepted for underscores.\n"
      "Flags are written `--x`, `--no_x` or `--x True|False`. `-` is standard input or output where a file is asked for.\n"
      "`--config FILE.toml` gives options by key; the command line wins. Options marked † have no key in a file.\n\n"
      "| command | |\n| --- | --- |\n";
  for (const CommandRow& command : command_table()) {
    text += fmt::format("| [`{0}`](#{0}) | {1} |\n", command.name, command.summary);
  }
  for (const CommandRow& command : command_table()) {
    text += fmt::format("\n## {}\n\n{}.\n\n`{}`\n", command.name, capitalised(command.summary), usage_line(command));
    for_each_option(
        command.command,
        [&](OptionGroup group) {
          text += fmt::format("\n| {} | default | |\n| --- | --- | --- |\n", group_title(group));
        },
        [&](const OptionRow& option) {
          std::string help(option.help);
          for (const std::string_view alias : split(option.aliases, ' ')) help += fmt::format("; also `--{}`", alias);
          const std::string value = option.default_text.empty() ? "" : fmt::format("`{}`", option.default_text);
          const std::string name = option.kind == OptionKind::flag ? fmt::format("--{}", option.name) : spelling(option);
          text += fmt::format("| `{}`{} | {} | {} |\n", cell(name), option.command_line_only ? " †" : "", value, cell(help));
        });
  }
  return text;
}

std::string man_page_text(std::string_view version) {
  std::string text = fmt::format(
      ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH REPRISE 1 \"\" \"reprise {}\"\n.SH NAME\nreprise \\- {}\n"
      ".SH SYNOPSIS\n.B reprise\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
      "Dashes are accepted for underscores in option names. Flags are written \\-\\-x, \\-\\-no_x or \\-\\-x True|False.\n",
      roff(version), kSummary);
  for (const CommandRow& command : command_table()) {
    text += fmt::format(".SH \"{}\"\n{}.\n.PP\n\\fB{}\\fR\n", roff(command.name), roff(capitalised(command.summary)),
                        roff(usage_line(command)));
    for_each_option(
        command.command, [&](OptionGroup group) { text += fmt::format(".SS {}\n", group_title(group)); },
        [&](const OptionRow& option) {
          text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(spelling(option)), roff(description(option)));
        });
  }
  text +=
      ".SH \"EXIT STATUS\"\n"
      "0: yes. 1: the answer is no, or a check failed. 2: the user's error. 3: an internal error. 4: a device failed. "
      "128 + signal: interrupted.\n";
  return text;
}

}  // namespace reprise
