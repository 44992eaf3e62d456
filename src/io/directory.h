// SPDX-License-Identifier: Apache-2.0
// Folders that change in one step: made whole beside their place and renamed into it, or moved aside before removal,
// so that a process killed at any moment leaves the old content or the new one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise {

/// Creates `path` and its missing parents. UserError when that is not allowed or something else is there.
void make_directories(const std::filesystem::path& path);

/// Returns the names in folder `path`, sorted by bytes.
std::vector<std::string> list_directory(const std::filesystem::path& path);

/// Renames within one file system, replacing a file at `to`, and makes it durable.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

/// Makes the names in folder `path` durable.
void sync_directory(const std::filesystem::path& path);

/// Removes a file or a folder with all it holds; a folder loses its name first, so it is never seen half removed.
/// Nothing there is not an error.
void remove_path(const std::filesystem::path& path);

/// Makes `link` a symbolic link to `target` (relative to the link's folder), replacing it in one step.
void replace_symlink(const std::filesystem::path& link, const std::filesystem::path& target);

/// Returns a path beside `path` that no other call of any live process returns: hidden, recognised by `remove_temporaries`.
std::filesystem::path temporary_beside(const std::filesystem::path& path);

/// Removes what killed processes left in folder `path`: names made by `temporary_beside`. Only for the folder's owner,
/// that is while holding its run lock.
void remove_temporaries(const std::filesystem::path& path);

/// A folder that appears whole or not at all: fill `path()`, then `commit`. Files in it must be durable already
/// (AtomicFile). Without `commit` it is removed.
class StagedDirectory {
 public:
  /// Creates an empty hidden folder beside `final_path`.
  explicit StagedDirectory(std::filesystem::path final_path);
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  /// Where to write until `commit`.
  const std::filesystem::path& path() const { return temporary_; }
  /// Moves the folder into its place; what was there is exchanged with it in one step, then removed. On a file system
  /// that cannot exchange names there is a moment with nothing in place.
  void commit();

 private:
  std::filesystem::path final_path_;
  std::filesystem::path temporary_;
  bool committed_ = false;
};

}  // namespace reprise
