// SPDX-License-Identifier: Apache-2.0
#include "train/run_directory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/path_query.h"

namespace reprise {
namespace {

constexpr std::string_view kConfig = "config.toml";
constexpr std::string_view kReplaced = ".replaced";  // where the old run waits until the new one trains

/// Names in the folder, the lock and what killed processes left (hidden names) apart.
bool holds_something(const std::filesystem::path& path) {
  const auto names = list_directory(path);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return !name.starts_with('.'); });
}

/// The configuration goes last: a folder that has it is still known as a run if this is cut short.
void remove_content(const std::filesystem::path& path) {
  for (const std::string& name : list_directory(path)) {
    if (!name.starts_with('.') && name != kConfig) remove_path(path / name);
  }
  remove_path(path / kConfig);
}

/// Moves a run from one folder to another on the same disk. The configuration goes last there too.
void move_content(const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const std::string& name : list_directory(from)) {
    if (!name.starts_with('.') && name != kConfig) rename_path(from / name, to / name);
  }
  if (is_run(from)) rename_path(from / kConfig, to / kConfig);
}

}  // namespace

bool is_run(const std::filesystem::path& path) { return is_plain_file(path / kConfig); }

RunDirectory RunDirectory::create(const std::filesystem::path& path, std::string_view config, bool overwrite) {
  make_directories(path);
  if (holds_something(path)) {
    if (!is_run(path)) {
      throw UserError(
          fmt::format("the folder is not empty and no run of reprise, so it is left alone; choose another --out: {}", path.string()));
    }
    if (!overwrite) {
      throw UserError(
          fmt::format("the run exists; continue it with --resume {} or replace it with --overwrite: {}", path.string(), path.string()));
    }
  }
  RunLock lock(path);
  if (is_run(path)) {
    remove_path(path / kReplaced);
    make_directories(path / kReplaced);
    move_content(path, path / kReplaced);
  }
  remove_temporaries(path);
  write_text_file(path / kConfig, config);
  return {path, std::move(lock)};
}

RunDirectory RunDirectory::open(const std::filesystem::path& path) {
  if (!is_run(path)) throw UserError(fmt::format("no run to resume here: config.toml is missing in {}", path.string()));
  RunLock lock(path);
  remove_temporaries(path);
  return {path, std::move(lock)};
}

void RunDirectory::forget_replaced() const { remove_path(path_ / kReplaced); }

bool RunDirectory::restore_replaced() const {
  if (!is_run(path_ / kReplaced)) return false;
  remove_content(path_);
  move_content(path_ / kReplaced, path_);
  forget_replaced();
  return true;
}

}  // namespace reprise
