// SPDX-License-Identifier: Apache-2.0
// The options of one command with a value each and where it came from: what a command reads, `--print_config` prints and
// a run folder's config.toml keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options/option.h"
#include "options/option_value.h"

namespace reprise {

/// From weakest to strongest.
enum class OptionSource : std::uint8_t { unset, default_value, derived, file, command_line };

struct ResolvedOption {
  const OptionRow* row = nullptr;
  std::optional<OptionValue> value;
  OptionSource source = OptionSource::unset;
  std::string origin;  // "default", "run.toml:3", "command line", ...
};

class ResolvedOptions {
 public:
  /// Starts with the defaults of `command`.
  explicit ResolvedOptions(Command command);

  Command command() const { return command_; }
  const std::vector<ResolvedOption>& entries() const { return entries_; }

  /// True when the command has the option and it has a value, the default included.
  bool has(std::string_view name) const;
  /// True when a file or the command line set the option.
  bool given(std::string_view name) const;
  /// True when the option has a value that is not the table's default.
  bool differs_from_default(std::string_view name) const;

  /// The value. InternalError when the command has no such option, it has no value, or its kind is another.
  bool get_flag(std::string_view name) const;
  std::int64_t get_int(std::string_view name) const;    // integer, count, size (bytes)
  double get_number(std::string_view name) const;       // number, duration (seconds)
  const std::string& get_text(std::string_view name) const;  // text, path, choice
  const std::vector<std::string>& get_list(std::string_view name) const;  // list, paths
  const ResolvedOption& option(std::string_view name) const;

  void set(std::string_view name, OptionValue value, OptionSource source, std::string origin);
  void unset(std::string_view name);

 private:
  const ResolvedOption* find(std::string_view name) const;
  ResolvedOption& mutable_option(std::string_view name);

  Command command_;
  std::vector<ResolvedOption> entries_;
};

/// Returns the TOML text that gives the same options when read as a configuration file, each with its source as a comment.
std::string config_text(const ResolvedOptions& options);

}  // namespace reprise
