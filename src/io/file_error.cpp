// SPDX-License-Identifier: Apache-2.0
#include "io/file_error.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace reprise {
namespace {

struct Cause {
  int code;
  const char* reason;
  const char* advice;
};

constexpr Cause kCauses[] = {
    {ENOSPC, "no space left on device", "free space and run again"},
    {EDQUOT, "disk quota exceeded", "free space and run again"},
    {EACCES, "permission denied", "choose a path you have access to, or change its permissions"},
    {EPERM, "operation not permitted", "choose a path you have access to, or change its permissions"},
    {EROFS, "read-only file system", "choose a path on a file system that can be written"},
    {ENOENT, "no such file or directory", "check the path"},
    {ENOTDIR, "a part of the path is not a directory", "check the path"},
    {EISDIR, "it is a directory", "give the path of a file"},
    {EEXIST, "it already exists", "choose another path, or remove it"},
    {ENOTEMPTY, "the directory is not empty", "choose another path, or remove it"},
    {ENAMETOOLONG, "the name is too long", "choose a shorter path"},
    {ELOOP, "too many symbolic links", "check the path for a link that leads to itself"},
    {EMFILE, "too many open files", "raise the limit (ulimit -n) and run again"},
    {ENFILE, "too many open files in the system", "close other programs and run again"},
    {EFBIG, "the file is too large", "raise the limit (ulimit -f), or use a file system that takes larger files"},
    {EIO, "input/output error", "check the disk, then run again"},
    {ENOMEM, "not enough memory", "free memory and run again"},
    {EBADF, "it is closed", "run again with it open"},
    {EPIPE, "the reader closed the pipe", "run again with a reader that takes all of the output"},
};

}  // namespace

std::string file_error_text(std::string_view action, const std::filesystem::path& path, int code) {
  for (const Cause& cause : kCauses) {
    if (cause.code == code) return fmt::format("cannot {} {}: {}; {}", action, path.string(), cause.reason, cause.advice);
  }
  return fmt::format("cannot {} {}: {}; check the path and the device", action, path.string(),
                     std::generic_category().message(code));
}

void throw_file_error(std::string_view action, const std::filesystem::path& path, int code) {
  throw UserError(file_error_text(action, path, code));
}

}  // namespace reprise
