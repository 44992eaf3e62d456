// SPDX-License-Identifier: Apache-2.0
#include "io/file_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_error.h"
#include "io/write_fault.h"

namespace reprise {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// One write(2), or what the installed fault makes of it. Returns the bytes taken, or -1 with errno set.
ssize_t write_once(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  const FileStepFault fault = check_write_fault({FileStep::write, path, bytes.size()});
  if (fault.error != 0) {
    errno = fault.error;
    return -1;
  }
  return ::write(fd, bytes.data(), std::min(bytes.size(), fault.limit));
}

FileDescriptor open_for_writing(const std::filesystem::path& opened, int flags, const std::filesystem::path& path) {
  const FileStepFault fault = check_write_fault({FileStep::open, path});
  if (fault.error != 0) throw_file_error("write", path, fault.error);
  FileDescriptor fd(::open(opened.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  if (!fd.valid()) throw_file_error("write", path, errno);
  return fd;
}

void sync_file(int fd, const std::filesystem::path& path) {
  const FileStepFault fault = check_write_fault({FileStep::sync, path});
  if (fault.error != 0) throw_file_error("write", path, fault.error);
  while (::fsync(fd) != 0) {
    if (errno != EINTR) throw_file_error("write", path, errno);
  }
}

/// A terminal is ended by hand, and /dev/null has ended.
void refuse_endless(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_file_error("read", path, errno);
  if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) return;
  if (::isatty(fd) == 1 || (S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))) return;
  throw UserError(fmt::format("{} is a device, which need not end: copy what is wanted of it to a file", path.string()));
}

std::string read_to_end(int fd, const std::filesystem::path& path) {
  refuse_endless(fd, path);
  std::string text;
  std::size_t used = 0;
  while (true) {
    if (text.size() - used < kBufferBytes) text.resize(std::max(text.size() * 2, kBufferBytes));
    const ssize_t count = ::read(fd, text.data() + used, text.size() - used);
    if (count == 0) break;
    if (count > 0) {
      used += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      throw_file_error("read", path, errno);
    }
  }
  text.resize(used);
  return text;
}

}  // namespace

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = write_once(fd, bytes, path);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (count == 0) {
      throw_file_error("write", path, EIO);  // a device that takes nothing and says nothing
    } else if (errno != EINTR) {
      throw_file_error("write", path, errno);
    }
  }
}

void write_all(int fd, std::string_view text, const std::filesystem::path& path) { write_all(fd, bytes_of(text), path); }

void WriteBuffer::write(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  if (gathered_.size() + bytes.size() > capacity_) flush(fd, path);
  if (bytes.size() > capacity_) {
    write_all(fd, bytes, path);
  } else {
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  }
  size_ += bytes.size();
}

void WriteBuffer::flush(int fd, const std::filesystem::path& path) {
  write_all(fd, gathered_, path);
  gathered_.clear();
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), temporary_(temporary_beside(path_)), buffer_(kBufferBytes) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) throw_file_error("write", path_, EISDIR);
    throw UserError("cannot write " + path_.string() + ": it is not a regular file; give the path of a file");
  }
  fd_ = open_for_writing(temporary_, O_CREAT | O_EXCL, path_);
}

AtomicFile::~AtomicFile() {
  if (fd_.valid()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  REPRISE_CHECK(fd_.valid(), "write to a committed file: " + path_.string());
  buffer_.write(fd_.get(), bytes, path_);
}

void AtomicFile::write(std::string_view text) { write(bytes_of(text)); }

void AtomicFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  REPRISE_CHECK(fd_.valid() && offset + bytes.size() <= size(), "bytes that were never written: " + path_.string());
  buffer_.flush(fd_.get(), path_);
  if (::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_SET) < 0) throw_file_error("write", path_, errno);
  write_all(fd_.get(), bytes, path_);
  if (::lseek(fd_.get(), 0, SEEK_END) < 0) throw_file_error("write", path_, errno);
}

void AtomicFile::commit() {
  REPRISE_CHECK(fd_.valid(), "commit of a committed file: " + path_.string());
  buffer_.flush(fd_.get(), path_);
  sync_file(fd_.get(), path_);
  rename_path(temporary_, path_);
  fd_.close();
}

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = open_for_writing(path_, O_CREAT | O_APPEND, path_);
}

void AppendFile::append(std::string_view text) { write_all(fd_.get(), text, path_); }

void AppendFile::sync() { sync_file(fd_.get(), path_); }

OutputFile::OutputFile(std::optional<std::filesystem::path> path) {
  if (!path) return;
  path_ = *path;
  if (path_ == "-") {
    path_ = "standard output";
    fd_ = STDOUT_FILENO;
    return;
  }
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    special_ = open_for_writing(path_, 0, path_);
    fd_ = special_.get();
  } else {
    file_ = std::make_unique<AtomicFile>(path_);
  }
}

OutputFile::~OutputFile() = default;

void OutputFile::write(std::string_view text) {
  if (file_) file_->write(text);
  if (fd_ >= 0) write_all(fd_, text, path_);
}

void OutputFile::commit() {
  if (file_) file_->commit();
}

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

std::string read_text_file(const std::filesystem::path& path) {
  if (path == "-") return read_to_end(STDIN_FILENO, "standard input");
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) throw_file_error("read", path, errno);
  return read_to_end(fd.get(), path);
}

}  // namespace reprise
