// SPDX-License-Identifier: Apache-2.0
#include "options/resolved_options.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "io/toml.h"
#include "options/option_table.h"

namespace reprise {
namespace {

constexpr std::size_t kCommentColumn = 40;

template <class Value>
const Value& content(const ResolvedOption& option) {
  REPRISE_CHECK(option.value.has_value(), fmt::format("option {} is read but has no value", option.row->name));
  const Value* value = std::get_if<Value>(&*option.value);
  REPRISE_CHECK(value != nullptr, fmt::format("option {} is read as another kind than it is", option.row->name));
  return *value;
}

}  // namespace

ResolvedOptions::ResolvedOptions(Command command) : command_(command) {
  for (const OptionRow* row : options_of(command)) {
    ResolvedOption option{row, {}, OptionSource::unset, ""};
    if (!row->default_text.empty()) {
      option.value = parse_option_value(*row, row->default_text, row->name);
      option.source = OptionSource::default_value;
      option.origin = "default";
    }
    entries_.push_back(std::move(option));
  }
}

const ResolvedOption* ResolvedOptions::find(std::string_view name) const {
  for (const ResolvedOption& option : entries_) {
    if (option.row->name == name) return &option;
  }
  return nullptr;
}

ResolvedOption& ResolvedOptions::mutable_option(std::string_view name) {
  return entries_[static_cast<std::size_t>(&option(name) - entries_.data())];
}

const ResolvedOption& ResolvedOptions::option(std::string_view name) const {
  const ResolvedOption* found = find(name);
  REPRISE_CHECK(found != nullptr, fmt::format("{} has no option {}", command_row(command_).name, name));
  return *found;
}

bool ResolvedOptions::has(std::string_view name) const {
  const ResolvedOption* found = find(name);
  return found != nullptr && found->value.has_value();
}

bool ResolvedOptions::given(std::string_view name) const {
  const OptionSource source = option(name).source;
  return source == OptionSource::file || source == OptionSource::command_line;
}

bool ResolvedOptions::differs_from_default(std::string_view name) const {
  const ResolvedOption& found = option(name);
  if (!found.value) return false;
  const std::string_view text = found.row->default_text;
  return text.empty() || *found.value != parse_option_value(*found.row, text, name);
}

bool ResolvedOptions::get_flag(std::string_view name) const { return content<bool>(option(name)); }
std::int64_t ResolvedOptions::get_int(std::string_view name) const { return content<std::int64_t>(option(name)); }
double ResolvedOptions::get_number(std::string_view name) const { return content<double>(option(name)); }
const std::string& ResolvedOptions::get_text(std::string_view name) const { return content<std::string>(option(name)); }
const std::vector<std::string>& ResolvedOptions::get_list(std::string_view name) const {
  return content<std::vector<std::string>>(option(name));
}

void ResolvedOptions::set(std::string_view name, OptionValue value, OptionSource source, std::string origin) {
  ResolvedOption& found = mutable_option(name);
  found.value = std::move(value);
  found.source = source;
  found.origin = std::move(origin);
}

void ResolvedOptions::unset(std::string_view name) {
  ResolvedOption& found = mutable_option(name);
  found = {found.row, {}, OptionSource::unset, ""};
}

std::string config_text(const ResolvedOptions& options) {
  std::string text = fmt::format("# reprise {}: resolved options\n", command_row(options.command()).name);
  std::optional<OptionGroup> group;
  for (const ResolvedOption& option : options.entries()) {
    if (option.row->command_line_only) continue;
    if (group != option.row->group) text += fmt::format("\n# {}\n", group_title(option.row->group));
    group = option.row->group;
    if (!option.value) {
      text += fmt::format("# {} is not set\n", option.row->name);
      continue;
    }
    const std::string setting = fmt::format("{} = {}", option.row->name, write_toml_value(toml_value_of(*option.value)));
    text += fmt::format("{:<{}}  # {}\n", setting, kCommentColumn, option.origin);
  }
  return text;
}

}  // namespace reprise
