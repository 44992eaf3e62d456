// SPDX-License-Identifier: Apache-2.0
#include "io/directory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "io/file_write.h"
#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

using Names = std::vector<std::string>;

TEST(Directory, MakesParentsAndAcceptsWhatIsThere) {
  const test::TemporaryDirectory folder;
  make_directories(folder / "a/b/c");
  make_directories(folder / "a/b/c/");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
}

TEST(Directory, SaysWhyAFolderCannotBeMade) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "file", "x");
  EXPECT_USER_ERROR(make_directories(folder / "file/a"), "a part of the path is not a directory");
  EXPECT_USER_ERROR(make_directories(folder / "file"), "cannot create");
  const ScopedWriteFault fault(fail_step(FileStep::open, EROFS));
  EXPECT_USER_ERROR(make_directories(folder / "b"), "read-only file system; choose a path on a file system that can be written");
}

TEST(Directory, ListsSorted) {
  const test::TemporaryDirectory folder;
  for (const char* name : {"b", "a", "c"}) test::put_file(folder / name, "");
  EXPECT_EQ(list_directory(folder.path()), (Names{"a", "b", "c"}));
  EXPECT_USER_ERROR(list_directory(folder / "none"), "no such file or directory");
}

TEST(Directory, RemovesFilesFoldersAndNothing) {
  const test::TemporaryDirectory folder;
  make_directories(folder / "step-1/deep");
  test::put_file(folder / "step-1/deep/a", "x");
  test::put_file(folder / "file", "x");
  remove_path(folder / "step-1/");
  remove_path(folder / "file");
  remove_path(folder / "never was");
  EXPECT_EQ(list_directory(folder.path()), Names{});
}

TEST(Directory, RemovingALinkLeavesItsTarget) {
  const test::TemporaryDirectory folder;
  make_directories(folder / "target");
  replace_symlink(folder / "latest", "target");
  remove_path(folder / "latest");
  EXPECT_EQ(list_directory(folder.path()), Names{"target"});
}

TEST(Directory, ReplacesALinkInOneStep) {
  const test::TemporaryDirectory folder;
  replace_symlink(folder / "latest", "step-1");
  replace_symlink(folder / "latest", "step-2");
  EXPECT_EQ(std::filesystem::read_symlink(folder / "latest"), "step-2");
  const ScopedWriteFault fault(fail_step(FileStep::rename, ENOSPC));
  EXPECT_USER_ERROR(replace_symlink(folder / "latest", "step-3"), "latest: no space left on device");
  EXPECT_EQ(list_directory(folder.path()), Names{"latest"});
}

TEST(Directory, RemovesWhatKilledProcessesLeft) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "kept", "x");
  test::put_file(folder / ".hidden", "x");
  test::put_file(temporary_beside(folder / "a.json"), "x");
  make_directories(temporary_beside(folder / "step-3"));
  EXPECT_NE(temporary_beside(folder / "a"), temporary_beside(folder / "a"));
  remove_temporaries(folder.path());
  EXPECT_EQ(list_directory(folder.path()), (Names{".hidden", "kept"}));
}

TEST(StagedDirectory, AppearsOnCommit) {
  const test::TemporaryDirectory folder;
  StagedDirectory staged(folder / "step-1");
  write_text_file(staged.path() / "a", "x");
  EXPECT_FALSE(std::filesystem::exists(folder / "step-1"));
  staged.commit();
  EXPECT_EQ(list_directory(folder.path()), Names{"step-1"});
  EXPECT_EQ(test::get_file(folder / "step-1/a"), "x");
}

TEST(StagedDirectory, ReplacesAnOlderFolderWhole) {
  const test::TemporaryDirectory folder;
  make_directories(folder / "model");
  test::put_file(folder / "model/old", "x");
  StagedDirectory staged(folder / "model/");
  write_text_file(staged.path() / "new", "y");
  staged.commit();
  EXPECT_EQ(list_directory(folder.path()), Names{"model"});
  EXPECT_EQ(list_directory(folder / "model"), Names{"new"});
}

TEST(StagedDirectory, ReplacesEvenWhereNamesCannotBeExchanged) {
  const test::TemporaryDirectory folder;
  make_directories(folder / "model");
  StagedDirectory staged(folder / "model");
  write_text_file(staged.path() / "new", "y");
  const ScopedWriteFault fault([first = true](const FileStepCall& call) mutable {
    const bool refuse = call.step == FileStep::rename && first;
    if (refuse) first = false;
    return FileStepFault{refuse ? EINVAL : 0};
  });
  staged.commit();
  EXPECT_EQ(list_directory(folder.path()), Names{"model"});
  EXPECT_EQ(list_directory(folder / "model"), Names{"new"});
}

TEST(StagedDirectory, WithoutCommitOrWhenItFailsLeavesTheOldOne) {
  const test::TemporaryDirectory folder;
  make_directories(folder / "model");
  test::put_file(folder / "model/old", "x");
  { const StagedDirectory staged(folder / "model"); }
  {
    StagedDirectory staged(folder / "model");
    const ScopedWriteFault fault(fail_step(FileStep::rename, ENOSPC));
    EXPECT_USER_ERROR(staged.commit(), "model: no space left on device");
  }
  EXPECT_EQ(list_directory(folder.path()), Names{"model"});
  EXPECT_EQ(list_directory(folder / "model"), Names{"old"});
}

}  // namespace
}  // namespace reprise
