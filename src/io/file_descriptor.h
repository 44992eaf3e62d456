// SPDX-License-Identifier: Apache-2.0
// An open file that closes itself.
#pragma once

#include <utility>

namespace reprise {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { close(); }

  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Closes the file now. Errors are not reported: whoever needs the bytes on disk syncs first.
  void close() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace reprise
