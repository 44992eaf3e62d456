// SPDX-License-Identifier: Apache-2.0
#include "options/completion.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "options/option_table.h"

namespace reprise {
namespace {

bool takes_file(const OptionRow& row) {
  return row.kind == OptionKind::path || row.kind == OptionKind::paths || row.kind == OptionKind::text;
}

std::string command_names() {
  std::vector<std::string_view> names;
  for (const CommandRow& command : command_table()) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string with_spaces(std::string_view choices) {
  std::string text(choices);
  std::replace(text.begin(), text.end(), '|', ' ');
  return text;
}

/// Choices of a command's positional, or nothing.
std::string positional_choices(const CommandRow& command) {
  const OptionRow* row = command.positional.empty() ? nullptr : find_option(command.command, command.positional);
  return row == nullptr ? "" : with_spaces(row->choices);
}

std::string bash_script() {
  std::string text = fmt::format(
      "# bash completion for reprise\n"
      "_reprise() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options= choices=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  before=${{before//-/_}}\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      command_names());
  for (const CommandRow& command : command_table()) {
    std::vector<std::string> options;
    std::string cases;
    for (const OptionRow* row : options_of(command.command)) {
      options.push_back(fmt::format("--{}", row->name));
      if (row->kind == OptionKind::flag) options.push_back(fmt::format("--no_{}", row->name));
      if (!row->choices.empty()) cases += fmt::format("        __{}) choices=\"{}\" ;;\n", row->name, with_spaces(row->choices));
    }
    text += fmt::format("    {})\n      options=\"{}\"\n", command.name, fmt::join(options, " "));
    if (const std::string choices = positional_choices(command); !choices.empty()) text += fmt::format("      choices=\"{}\"\n", choices);
    if (!cases.empty()) text += "      case $before in\n" + cases + "      esac\n";
    text += "      ;;\n";
  }
  text +=
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  elif [ -n \"$choices\" ]; then\n"
      "    COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _reprise reprise\n";
  return text;
}

/// Escapes what zsh's _arguments reads in a description.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c == '[' || c == ']' || c == ':') {
      result += '\\';
      result += c;
    } else {
      result += c;
    }
  }
  return result;
}

std::string zsh_action(const OptionRow& row) {
  if (!row.choices.empty()) return fmt::format("({})", with_spaces(row.choices));
  return takes_file(row) ? "_files" : "";
}

std::string zsh_script() {
  std::string text = "#compdef reprise\n# zsh completion for reprise\n_reprise() {\n  local -a commands\n  commands=(\n";
  for (const CommandRow& command : command_table()) text += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.summary));
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CommandRow& command : command_table()) {
    text += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionRow* row : options_of(command.command)) {
      const std::string help = zsh_text(row->help);
      if (row->kind == OptionKind::flag) {
        text += fmt::format(" \\\n        '(--{0})--{0}[{1}]' '(--no_{0})--no_{0}[not\\: {1}]'", row->name, help);
      } else {
        text += fmt::format(" \\\n        '{}--{}[{}]:{}:{}'", row->kind == OptionKind::paths ? "*" : "", row->name, help,
                            zsh_text(placeholder_of(*row)), zsh_action(*row));
      }
    }
    if (!command.positional.empty()) {
      const OptionRow& row = *find_option(command.command, command.positional);
      text += fmt::format(" \\\n        '1:{}:{}'", zsh_text(placeholder_of(row)), zsh_action(row));
    }
    text += "\n      ;;\n";
  }
  text += "  esac\n}\ncompdef _reprise reprise\n";
  return text;
}

std::string fish_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string fish_script() {
  std::string text = "# fish completion for reprise\ncomplete -c reprise -f\n";
  text += "complete -c reprise -n __fish_use_subcommand -l help -d 'show help and stop'\n";
  text += "complete -c reprise -n __fish_use_subcommand -l version -d 'print the version and stop'\n";
  for (const CommandRow& command : command_table()) {
    text += fmt::format("complete -c reprise -n __fish_use_subcommand -a {} -d '{}'\n", command.name, fish_text(command.summary));
  }
  for (const CommandRow& command : command_table()) {
    const std::string condition = fmt::format("complete -c reprise -n '__fish_seen_subcommand_from {}'", command.name);
    if (const std::string choices = positional_choices(command); !choices.empty()) {
      text += fmt::format("{} -a '{}'\n", condition, choices);
    } else if (!command.positional.empty()) {
      text += fmt::format("{} -F\n", condition);
    }
    for (const OptionRow* row : options_of(command.command)) {
      const std::string help = fish_text(row->help);
      if (row->kind == OptionKind::flag) {
        text += fmt::format("{0} -l {1} -d '{2}'\n{0} -l no_{1} -d 'not: {2}'\n", condition, row->name, help);
      } else if (!row->choices.empty()) {
        text += fmt::format("{} -l {} -x -a '{}' -d '{}'\n", condition, row->name, with_spaces(row->choices), help);
      } else {
        text += fmt::format("{} -l {} {} -d '{}'\n", condition, row->name, takes_file(*row) ? "-r -F" : "-x", help);
      }
    }
  }
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  REPRISE_CHECK(shell == "fish", "no completion script for shell " + std::string(shell));
  return fish_script();
}

}  // namespace reprise
