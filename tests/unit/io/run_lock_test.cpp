// SPDX-License-Identifier: Apache-2.0
#include "io/run_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

TEST(RunLock, ASecondHolderIsRefusedUntilTheFirstEnds) {
  const test::TemporaryDirectory folder;
  std::optional<RunLock> first(folder.path());
  EXPECT_USER_ERROR(RunLock(folder.path()), "run directory is in use by process " + std::to_string(::getpid()) + " on ");
  EXPECT_USER_ERROR(RunLock(folder.path()), folder.path().string() + "; wait until it ends, or choose another directory");
  first.reset();
  EXPECT_NO_THROW(RunLock(folder.path()));
}

TEST(RunLock, AnotherProcessIsNamedAndItsDeathFreesTheRun) {
  const test::TemporaryDirectory folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const RunLock lock(folder.path());
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_USER_ERROR(RunLock(folder.path()), "in use by process " + std::to_string(child) + " on ");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(RunLock(folder.path()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RunLock, AHolderThatHasNotWrittenYetIsAnotherProcess) {
  const test::TemporaryDirectory folder;
  const RunLock first(folder.path());
  test::put_file(folder / ".lock", "");
  EXPECT_USER_ERROR(RunLock(folder.path()), "in use by another process");
}

TEST(RunLock, TheFolderMustBeThere) {
  const test::TemporaryDirectory folder;
  EXPECT_USER_ERROR(RunLock(folder / "none"), "cannot lock");
}

}  // namespace
}  // namespace reprise
