// SPDX-License-Identifier: Apache-2.0
#include "io/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "io/file_descriptor.h"
#include "io/file_error.h"
#include "io/path_query.h"
#include "io/write_fault.h"

namespace reprise {
namespace {

constexpr std::string_view kTemporaryMark = ".tmp-";

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

/// Drops trailing slashes, so that "runs/a/" has a file name.
std::filesystem::path without_trailing_slash(const std::filesystem::path& path) {
  return path.has_filename() || !path.has_parent_path() ? path : path.parent_path();
}

/// Exchanges two names in one step where the file system can; returns 0 or an errno value.
int exchange_paths(const std::filesystem::path& a, const std::filesystem::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0 ? 0 : errno;
}

}  // namespace

void make_directories(const std::filesystem::path& path) {
  const FileStepFault fault = check_write_fault({FileStep::open, path});
  if (fault.error != 0) throw_file_error("create", path, fault.error);
  std::error_code error;
  std::filesystem::create_directories(without_trailing_slash(path), error);
  if (error) throw_file_error("create", path, error.value());
  if (!is_folder(path)) throw_file_error("create", path, EEXIST);
}

std::vector<std::string> list_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(path, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) throw_file_error("read", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

void sync_directory(const std::filesystem::path& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) throw_file_error("write", path, errno);
  // Some file systems cannot sync a folder and say EINVAL; the rename is then as durable as they make it.
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EINTR) throw_file_error("write", path, errno);
}

void rename_path(const std::filesystem::path& from, const std::filesystem::path& to) {
  const FileStepFault fault = check_write_fault({FileStep::rename, to});
  if (fault.error != 0) throw_file_error("write", to, fault.error);
  if (::rename(from.c_str(), to.c_str()) != 0) throw_file_error("write", to, errno);
  sync_directory(folder_of(to));
}

void remove_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path doomed = without_trailing_slash(path);
  if (std::filesystem::is_directory(std::filesystem::symlink_status(doomed, error))) {
    const std::filesystem::path aside = temporary_beside(doomed);
    if (::rename(doomed.c_str(), aside.c_str()) != 0) throw_file_error("remove", path, errno);
    doomed = aside;
  }
  std::filesystem::remove_all(doomed, error);
  if (error) throw_file_error("remove", path, error.value());
}

void replace_symlink(const std::filesystem::path& link, const std::filesystem::path& target) {
  const std::filesystem::path temporary = temporary_beside(link);
  if (::symlink(target.c_str(), temporary.c_str()) != 0) throw_file_error("write", link, errno);
  try {
    rename_path(temporary, link);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path clean = without_trailing_slash(path);
  return clean.parent_path() /
         fmt::format(".{}{}{}-{}", clean.filename().string(), kTemporaryMark, ::getpid(), counter.fetch_add(1));
}

void remove_temporaries(const std::filesystem::path& path) {
  for (const std::string& name : list_directory(path)) {
    if (name.starts_with('.') && name.find(kTemporaryMark) != std::string::npos) remove_path(path / name);
  }
}

StagedDirectory::StagedDirectory(std::filesystem::path final_path)
    : final_path_(without_trailing_slash(final_path)), temporary_(temporary_beside(final_path_)) {
  make_directories(temporary_);
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;  // a destructor has nobody to tell; the next owner of the folder removes what is left
  if (!committed_) std::filesystem::remove_all(temporary_, ignored);
}

void StagedDirectory::commit() {
  REPRISE_CHECK(!committed_, "commit of a committed folder: " + final_path_.string());
  sync_directory(temporary_);
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(final_path_, error))) {
    rename_path(temporary_, final_path_);
    committed_ = true;
    return;
  }
  const FileStepFault fault = check_write_fault({FileStep::rename, final_path_});
  const int code = fault.error != 0 ? fault.error : exchange_paths(temporary_, final_path_);
  if (code == 0) {
    sync_directory(folder_of(final_path_));
    committed_ = true;
    remove_path(temporary_);  // the old content now has the temporary's name
    return;
  }
  if (code != EINVAL && code != ENOSYS) throw_file_error("write", final_path_, code);
  const std::filesystem::path aside = temporary_beside(final_path_);
  rename_path(final_path_, aside);
  rename_path(temporary_, final_path_);
  committed_ = true;
  remove_path(aside);
}

}  // namespace reprise
