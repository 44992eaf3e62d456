// SPDX-License-Identifier: Apache-2.0
// Every byte reprise writes to a file goes through `write_all`: short writes and interruptions are handled once, and
// tests inject a full disk or a read-only folder in one place (io/write_fault.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_descriptor.h"

namespace reprise {

/// Writes all of `bytes` to `fd`. UserError naming `path` and the cause when the system refuses.
void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);
void write_all(int fd, std::string_view text, const std::filesystem::path& path);

/// Gathers what is written to a file into writes of `capacity` bytes and more.
class WriteBuffer {
 public:
  explicit WriteBuffer(std::size_t capacity) : capacity_(capacity) {}

  /// As write_all, sooner or later.
  void write(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);
  /// Hands over what is gathered.
  void flush(int fd, const std::filesystem::path& path);
  /// Bytes written so far, gathered ones among them.
  std::uint64_t size() const { return size_; }

 private:
  std::size_t capacity_;
  std::vector<std::byte> gathered_;
  std::uint64_t size_ = 0;
};

/// A file that appears whole or not at all: bytes go to a hidden temporary beside `path`, and `commit` makes them
/// durable and renames. Without `commit` the temporary is removed and whatever was at `path` stays.
class AtomicFile {
 public:
  /// Creates the temporary. UserError when the folder is missing or not writable, or `path` is not a regular file.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Writes over bytes that were written before, from `offset` on.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Bytes written so far.
  std::uint64_t size() const { return buffer_.size(); }
  const std::filesystem::path& path() const { return path_; }
  /// Flushes to disk, renames over `path`, flushes the folder. Nothing may be written afterwards.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileDescriptor fd_;
  WriteBuffer buffer_;
};

/// A log that grows line by line; each `append` is handed to the system before it returns.
class AppendFile {
 public:
  /// Opens `path` for appending, creating it if needed.
  explicit AppendFile(std::filesystem::path path);

  void append(std::string_view text);
  /// Makes what was appended durable.
  void sync();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor fd_;
};

/// A file of results that is opened before they are computed, so that a path that cannot be written is known at once.
class OutputFile {
 public:
  /// `path` may be a pipe, "-" is standard output; without one nothing is written.
  explicit OutputFile(std::optional<std::filesystem::path> path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// Makes what was written appear. Without it a regular file stays what it was.
  void commit();

 private:
  std::filesystem::path path_;
  std::unique_ptr<AtomicFile> file_;
  FileDescriptor special_;
  int fd_ = -1;
};

/// Writes `text` as the whole content of `path`: atomically for a regular file, straight into a pipe or device;
/// "-" is standard output.
void write_text_file(const std::filesystem::path& path, std::string_view text);

/// Returns the whole content of `path`, which may be a pipe; "-" is standard input. UserError for a device, which need not end.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace reprise
