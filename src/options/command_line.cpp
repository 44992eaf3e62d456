// SPDX-License-Identifier: Apache-2.0
#include "options/command_line.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "options/option_table.h"

namespace reprise {
namespace {

bool is_numeric(OptionKind kind) {
  return kind == OptionKind::integer || kind == OptionKind::number || kind == OptionKind::count || kind == OptionKind::size ||
         kind == OptionKind::duration;
}

bool is_true_or_false(std::string_view word) { return word == "True" || word == "true" || word == "False" || word == "false"; }

class Parser {
 public:
  Parser(Command command, std::span<const std::string> words) : command_(command), words_(words) {}

  std::vector<GivenOption> parse() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word == "--") {
        while (next_ < words_.size()) take_positional(words_[next_++]);
      } else if (word == "-h") {
        add(option_named("help", word), true, word);
      } else if (word.starts_with("--")) {
        take_option(word);
      } else if (word.size() > 1 && word.starts_with('-')) {
        fail(fmt::format("unknown option {}; options start with two dashes", word));
      } else {
        take_positional(word);
      }
    }
    return std::move(given_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{} (reprise {} --help lists the options)", what, command_row(command_).name));
  }

  /// The row for a name as written, without dashes; unknown names are an error that helps.
  const OptionRow& option_named(const std::string& name, const std::string& written) const {
    if (const OptionRow* row = find_option(command_, name)) return *row;
    std::vector<std::string_view> names;
    for (const OptionRow* row : options_of(command_)) {
      names.push_back(row->name);
      for (const std::string_view alias : split(row->aliases, ' ')) names.push_back(alias);
    }
    for (const CommandRow& other : command_table()) {
      if (find_option(other.command, name) != nullptr) {
        fail(fmt::format("option {} belongs to {}, not to {}", written, other.name, command_row(command_).name));
      }
    }
    const std::string_view nearest = nearest_name(name, names);
    fail(fmt::format("unknown option {}{}", written, nearest.empty() ? "" : fmt::format("; did you mean --{}?", nearest)));
  }

  void take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string written = word.substr(0, equals);
    std::string name = written.substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    std::optional<std::string> text;
    if (equals != std::string::npos) text = word.substr(equals + 1);

    if (find_option(command_, name) == nullptr && name.starts_with("no_")) {
      const OptionRow* row = find_option(command_, name.substr(3));
      if (row != nullptr && row->kind == OptionKind::flag) {
        if (text) fail(fmt::format("{} takes no value; write --{} or {}", written, name.substr(3), written));
        add(*row, false, written);
        return;
      }
    }
    const OptionRow& row = option_named(name, written);
    if (row.kind == OptionKind::flag) {
      if (!text && next_ < words_.size() && is_true_or_false(words_[next_])) text = words_[next_++];
      add(row, text ? parse_option_value(row, *text, written) : OptionValue(true), written);
    } else if (row.kind == OptionKind::paths) {
      take_paths(row, written, text);
    } else {
      if (!text) text = next_value(row, written);
      add(row, parse_option_value(row, *text, written), written);
    }
  }

  bool is_value(const OptionRow& row, const std::string& word) const {
    if (!word.starts_with('-') || word == "-") return true;
    return is_numeric(row.kind) && word.size() > 1 && std::string_view(".0123456789").find(word[1]) != std::string_view::npos;
  }

  std::string next_value(const OptionRow& row, const std::string& written) {
    if (next_ < words_.size() && is_value(row, words_[next_])) return words_[next_++];
    fail(fmt::format("option {0} needs a value: {0} {1}, or {0}=VALUE for one that starts with a dash", written, placeholder_of(row)));
  }

  void take_paths(const OptionRow& row, const std::string& written, const std::optional<std::string>& text) {
    std::vector<std::string> paths;
    if (text) {
      paths.push_back(*text);
    } else {
      paths.push_back(next_value(row, written));
      while (next_ < words_.size() && is_value(row, words_[next_])) paths.push_back(words_[next_++]);
    }
    for (GivenOption& option : given_) {
      if (option.row != &row) continue;
      auto& before = std::get<std::vector<std::string>>(option.value);
      before.insert(before.end(), paths.begin(), paths.end());
      return;
    }
    for (const std::string& path : paths) parse_option_value(row, path, written);
    add(row, std::move(paths), written);
  }

  void take_positional(const std::string& word) {
    const CommandRow& command = command_row(command_);
    if (command.positional.empty()) fail(fmt::format("unexpected argument \"{}\"; {} takes none", word, command.name));
    const std::string_view wanted = positional_ ? command.second_positional : command.positional;
    if (wanted.empty() || taken_second_) {
      fail(fmt::format("unexpected argument \"{}\"; {} already has \"{}\"", word, command.name, *positional_));
    }
    const OptionRow* const row = find_option(command_, wanted);
    taken_second_ = positional_.has_value();
    positional_ = word;
    const std::string where(placeholder_of(*row));
    add(*row, parse_option_value(*row, word, where), where);
  }

  void add(const OptionRow& row, OptionValue value, const std::string& where) {
    for (const GivenOption& option : given_) {
      if (option.row != &row) continue;
      if (option.where == where) fail(fmt::format("{} is given twice; give it once", where));
      fail(fmt::format("{} and {} are the same option; give it once", option.where, where));
    }
    given_.push_back({&row, std::move(value), where});
  }

  Command command_;
  std::span<const std::string> words_;
  std::size_t next_ = 0;
  std::optional<std::string> positional_;  // the last one
  bool taken_second_ = false;
  std::vector<GivenOption> given_;
};

}  // namespace

std::vector<GivenOption> parse_command_line(Command command, std::span<const std::string> words) {
  return Parser(command, words).parse();
}

}  // namespace reprise
