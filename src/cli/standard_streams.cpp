// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "io/file_write.h"

namespace reprise {

void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one. An output that is only open for reading refuses what is written.
    if (::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

void take_file_limit_as_error() { std::signal(SIGXFSZ, SIG_IGN); }

void print_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void print_output(std::string_view text) { write_all(STDOUT_FILENO, text, "standard output"); }

void print_note(std::string_view text) {
  const bool closed = (::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY;
  if (!closed) print_output(text);
}

}  // namespace reprise
