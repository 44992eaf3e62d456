// SPDX-License-Identifier: Apache-2.0
// Runs a program as a person does: words in, exit status and both outputs out.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_directory.h"

namespace reprise::test {

struct ProgramResult {
  int status = 0;  // as a shell says it: 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

/// A program that runs beside the test. Its outputs go to files, so that it is never held up.
class RunningProgram {
 public:
  /// `user`: run as this user id (only root can); 0: as the test's own.
  explicit RunningProgram(std::vector<std::string> words, uid_t user = 0) {
    const std::string out = folder_ / "out";
    const std::string err = folder_ / "err";
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ > 0) return;
    const int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out_fd < 0 || err_fd < 0 || ::dup2(out_fd, 1) < 0 || ::dup2(err_fd, 2) < 0) ::_exit(126);
    if (user != 0 && ::setuid(user) != 0) ::_exit(125);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~RunningProgram() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void send(int number) { ::kill(pid_, number); }
  std::string err_so_far() const { return get_file(folder_ / "err"); }
  /// Waits until standard error holds `text`; false when the program ends without it.
  bool wait_for_err(const std::string& text) {
    while (err_so_far().find(text) == std::string::npos) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_) {
        return err_so_far().find(text) != std::string::npos;
      }
      ::usleep(2000);
    }
    return true;
  }
  ProgramResult wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), get_file(folder_ / "out"), get_file(folder_ / "err")};
  }

 private:
  TemporaryDirectory folder_;
  pid_t pid_ = 0;
};

inline ProgramResult run_program(std::vector<std::string> words) { return RunningProgram(std::move(words)).wait(); }

/// Expects that `reprise` ended with `status`, printed nothing, and holds `phrase` in its last message, which is one line.
inline void expect_refusal(const ProgramResult& result, const std::string& phrase, int status = 2) {
  EXPECT_EQ(result.status, status) << result.err;
  const std::size_t last = result.err.rfind("reprise: ");
  ASSERT_NE(last, std::string::npos) << result.err;
  const std::string line = result.err.substr(last);
  EXPECT_NE(line.find(phrase), std::string::npos) << "wanted: " << phrase << "\ngot: " << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  EXPECT_TRUE(result.out.empty()) << result.out;
}

/// Runs the built `reprise`. REPRISE_BINARY is its path, from CMake.
#ifdef REPRISE_BINARY
inline ProgramResult reprise_run(std::vector<std::string> words) {
  words.insert(words.begin(), REPRISE_BINARY);
  return run_program(std::move(words));
}
inline void expect_refusal(std::vector<std::string> words, const std::string& phrase) {
  expect_refusal(reprise_run(std::move(words)), phrase);
}
#endif

}  // namespace reprise::test
