// SPDX-License-Identifier: Apache-2.0
#include "options/option_table.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "options/option_rows.h"

namespace reprise {
namespace {

constexpr std::array kCommands{
    CommandRow{Command::train, "train", "model", false, "--data PATH... --out RUN [MODEL]", "train a model on text"},
    CommandRow{Command::generate, "generate", "model", true, "RUN [--prompt TEXT]", "write text with a trained model"},
    CommandRow{Command::eval, "eval", "model", true, "MODEL --data PATH...", "measure the loss of a model on text"},
    CommandRow{Command::bench, "bench", "model", false, "[MODEL]", "time the training step of a model on random tokens"},
    CommandRow{Command::plan, "plan", "model", true, "MODEL [--recompute POLICY]",
               "show what each recompute policy keeps, costs and needs"},
    CommandRow{Command::explain, "explain", "model", true, "MODEL [VALUE]",
               "show what fills the memory of a step at its peak, or explain one value", "value"},
    CommandRow{Command::trace, "trace", "model", true, "MODEL [--stage STAGE]", "print the program a model is traced to"},
    CommandRow{Command::run_trace, "run-trace", "file", true, "FILE", "run a printed trace on seeded inputs"},
    CommandRow{Command::models, "models", "model", false, "[MODEL]", "list the models known by name, or describe one"},
    CommandRow{Command::info, "info", "", false, "", "show version, processor, memory, libraries and executors"},
    CommandRow{Command::export_model, "export", "model", true, "RUN --out DIR", "write a model as a Hugging Face folder"},
    CommandRow{Command::completion, "completion", "shell", true, "bash|zsh|fish", "print a completion script for a shell"},
};

std::vector<OptionRow> make_table() {
  std::vector<OptionRow> table;
  for (const auto rows : {model_option_rows(), train_option_rows(), generate_option_rows(), eval_option_rows(), bench_option_rows(),
                          trace_option_rows(), recompute_option_rows(), export_option_rows(), general_option_rows()}) {
    table.insert(table.end(), rows.begin(), rows.end());
  }
  std::stable_sort(table.begin(), table.end(), [](const OptionRow& a, const OptionRow& b) { return a.group < b.group; });
  return table;
}

}  // namespace

std::span<const CommandRow> command_table() { return kCommands; }

const CommandRow& command_row(Command command) {
  const auto row = std::find_if(kCommands.begin(), kCommands.end(), [&](const CommandRow& r) { return r.command == command; });
  REPRISE_CHECK(row != kCommands.end(), "a command has no row in the command table");
  return *row;
}

std::optional<Command> find_command(std::string_view name) {
  for (const CommandRow& row : kCommands) {
    if (row.name == name) return row.command;
  }
  return std::nullopt;
}

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = make_table();
  return table;
}

std::vector<const OptionRow*> options_of(Command command) {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : option_table()) {
    if (contains(row.commands, command)) rows.push_back(&row);
  }
  return rows;
}

const OptionRow* find_option(Command command, std::string_view name) {
  for (const OptionRow& row : option_table()) {
    if (!contains(row.commands, command)) continue;
    const auto aliases = split(row.aliases, ' ');
    if (row.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &row;
  }
  return nullptr;
}

std::string_view group_title(OptionGroup group) {
  switch (group) {
    case OptionGroup::model: return "Model";
    case OptionGroup::data: return "Data";
    case OptionGroup::output: return "Output";
    case OptionGroup::schedule: return "Length and schedule";
    case OptionGroup::optimizer: return "Optimizer";
    case OptionGroup::numerics: return "Numbers";
    case OptionGroup::execution: return "Execution";
    case OptionGroup::sampling: return "Sampling";
    case OptionGroup::measurement: return "Measurement";
    case OptionGroup::general: return "General";
  }
  return "";
}

std::string_view placeholder_of(const OptionRow& row) {
  if (!row.placeholder.empty()) return row.placeholder;
  switch (row.kind) {
    case OptionKind::flag: return "";
    case OptionKind::integer: return "N";
    case OptionKind::number: return "X";
    case OptionKind::count: return "N";
    case OptionKind::size: return "BYTES";
    case OptionKind::duration: return "TIME";
    case OptionKind::text: return "TEXT";
    case OptionKind::path: return "PATH";
    case OptionKind::choice: return row.choices;
    case OptionKind::list: return "A,B,...";
    case OptionKind::paths: return "PATH...";
  }
  return "";
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace reprise
