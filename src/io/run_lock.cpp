// SPDX-License-Identifier: Apache-2.0
#include "io/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "io/file_error.h"
#include "io/file_write.h"

namespace reprise {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// "process 12 on host", as the holder wrote it; the holder may be between locking and writing.
std::string holder(int fd) {
  std::array<char, 300> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string line(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  line.erase(std::min(line.find('\n'), line.size()));
  return line.empty() ? "another process" : line;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& run) {
  const std::filesystem::path path = run / ".lock";
  fd_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_.valid()) throw_file_error("lock", path, errno);
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw UserError(fmt::format("run directory is in use by {}: {}; wait until it ends, or choose another directory",
                                  holder(fd_.get()), run.string()));
    }
    if (errno != EINTR) throw_file_error("lock", path, errno);
  }
  if (::ftruncate(fd_.get(), 0) != 0) throw_file_error("lock", path, errno);
  write_all(fd_.get(), fmt::format("process {} on {}\n", ::getpid(), host_name()), path);
}

}  // namespace reprise
