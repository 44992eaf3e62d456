// SPDX-License-Identifier: Apache-2.0
#include "io/file_write.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "io/directory.h"
#include "io/file_error.h"
#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

std::string long_text() {
  std::string text(300'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

TEST(FileError, HasOneWordingPerCause) {
  EXPECT_EQ(file_error_text("write", "run/a", ENOSPC), "cannot write run/a: no space left on device; free space and run again");
  EXPECT_EQ(file_error_text("write", "run/a", EDQUOT), "cannot write run/a: disk quota exceeded; free space and run again");
  EXPECT_EQ(file_error_text("create", "run", EROFS),
            "cannot create run: read-only file system; choose a path on a file system that can be written");
  EXPECT_EQ(file_error_text("write", "a", EACCES),
            "cannot write a: permission denied; choose a path you have access to, or change its permissions");
  EXPECT_EQ(file_error_text("read", "a", EXDEV), "cannot read a: Invalid cross-device link; check the path and the device");
}

TEST(AtomicFile, AppearsOnCommit) {
  const test::TemporaryDirectory folder;
  const std::string text = long_text();
  AtomicFile file(folder / "a");
  file.write("head ");
  file.write(text);
  file.write(" tail");
  EXPECT_EQ(file.size(), text.size() + 10);
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  file.commit();
  EXPECT_EQ(test::get_file(folder / "a"), "head " + text + " tail");
  EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFile, HonoursTheUmask) {
  const test::TemporaryDirectory folder;
  const mode_t before = ::umask(022);
  write_text_file(folder / "a", "x");
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(AtomicFile, WithoutCommitLeavesWhatWasThere) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new");
  }
  EXPECT_EQ(test::get_file(folder / "a"), "old");
  EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const test::TemporaryDirectory folder;
  EXPECT_USER_ERROR(AtomicFile(folder.path()), "it is a directory");
  EXPECT_USER_ERROR(AtomicFile("/dev/null"), "cannot write /dev/null: it is not a regular file; give the path of a file");
  EXPECT_USER_ERROR(AtomicFile(folder / "none/a"), "none/a: no such file or directory");
}

TEST(AtomicFile, FullDiskLeavesTheOldFileAndNoRemains) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", "old");
  for (const std::uint64_t room : {0u, 1u, 70'000u, 299'999u}) {
    const ScopedWriteFault fault(fail_after_bytes(room, ENOSPC));
    EXPECT_USER_ERROR(write_text_file(folder / "a", long_text()), "a: no space left on device; free space and run again");
  }
  EXPECT_EQ(test::get_file(folder / "a"), "old");
  EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFile, EveryStepThatFailsIsReported) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", "old");
  for (const FileStep step : {FileStep::open, FileStep::write, FileStep::sync, FileStep::rename}) {
    const ScopedWriteFault fault(fail_step(step, EACCES));
    EXPECT_USER_ERROR(write_text_file(folder / "a", "new"), "permission denied; choose a path you have access to");
  }
  EXPECT_EQ(test::get_file(folder / "a"), "old");
  EXPECT_EQ(list_directory(folder.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFile, ReadOnlyFolderIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const test::TemporaryDirectory folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
  EXPECT_USER_ERROR(write_text_file(folder / "a", "x"), "permission denied");
}

TEST(WriteAll, SurvivesShortAndInterruptedWrites) {
  const test::TemporaryDirectory folder;
  const ScopedWriteFault fault(short_writes(1000));
  write_text_file(folder / "a", long_text());
  EXPECT_EQ(test::get_file(folder / "a"), long_text());
}

TEST(WriteAll, ADeviceThatTakesNothingIsAnError) {
  const test::TemporaryDirectory folder;
  const ScopedWriteFault fault([](const FileStepCall& call) {
    return call.step == FileStep::write ? FileStepFault{0, 0} : FileStepFault{};
  });
  EXPECT_USER_ERROR(write_text_file(folder / "a", "x"), "input/output error; check the disk");
}

TEST(WriteAll, ARealFullDeviceIsReported) {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "no /dev/full here";
  EXPECT_USER_ERROR(write_all(fd, "text", "/dev/full"), "cannot write /dev/full: no space left on device");
  ::close(fd);
}

TEST(WriteFault, ActsOnlyWhileItLives) {
  const test::TemporaryDirectory folder;
  {
    const ScopedWriteFault outer(fail_step(FileStep::write, EIO));
    {
      const ScopedWriteFault inner(short_writes(2));
      write_text_file(folder / "a", "inner");
    }
    EXPECT_USER_ERROR(write_text_file(folder / "a", "outer"), "input/output error");
  }
  write_text_file(folder / "b", "after");
  EXPECT_EQ(test::get_file(folder / "a"), "inner");
  EXPECT_EQ(test::get_file(folder / "b"), "after");
}

TEST(WriteFault, ActsOnEveryThread) {
  const test::TemporaryDirectory folder;
  const ScopedWriteFault fault(fail_step(FileStep::write, ENOSPC));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_USER_ERROR(write_text_file(folder / std::to_string(i), "x"), "no space left on device");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(AppendFile, GrowsAndIsSeenAtOnce) {
  const test::TemporaryDirectory folder;
  {
    AppendFile log(folder / "log");
    log.append("one\n");
    EXPECT_EQ(test::get_file(folder / "log"), "one\n");
    log.append("two\n");
    log.sync();
  }
  AppendFile(folder / "log").append("three\n");
  EXPECT_EQ(test::get_file(folder / "log"), "one\ntwo\nthree\n");
}

TEST(AppendFile, ReportsAFullDisk) {
  const test::TemporaryDirectory folder;
  AppendFile log(folder / "log");
  const ScopedWriteFault fault(fail_after_bytes(2, ENOSPC));
  EXPECT_USER_ERROR(log.append("one\n"), "log: no space left on device");
  EXPECT_USER_ERROR(AppendFile(folder / "none/log"), "no such file or directory");
}

TEST(TextFile, ReadsAnyLengthAndPipes) {
  const test::TemporaryDirectory folder;
  const std::string text = long_text();
  test::put_file(folder / "a", text);
  test::put_file(folder / "empty", "");
  EXPECT_EQ(read_text_file(folder / "a"), text);
  EXPECT_EQ(read_text_file(folder / "empty"), "");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { write_text_file(folder / "pipe", text); });
  EXPECT_EQ(read_text_file(folder / "pipe"), text);
  writer.join();
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(TextFile, SaysWhyAFileCannotBeRead) {
  const test::TemporaryDirectory folder;
  EXPECT_USER_ERROR(read_text_file(folder / "none"), "cannot read");
  EXPECT_USER_ERROR(read_text_file(folder.path()), "it is a directory");
  EXPECT_USER_ERROR(read_text_file("/dev/zero"), "/dev/zero is a device, which need not end: copy what is wanted of it to a file");
  EXPECT_EQ(read_text_file("/dev/null"), "");
}

TEST(OutputFile, IsOpenedBeforeItIsWritten) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", "old");
  {
    OutputFile file(folder / "a");
    file.write("new, but not finished");
  }
  EXPECT_EQ(test::get_file(folder / "a"), "old");
  OutputFile file(folder / "a");
  file.write("one ");
  file.write("two");
  EXPECT_EQ(test::get_file(folder / "a"), "old");
  file.commit();
  EXPECT_EQ(test::get_file(folder / "a"), "one two");
  OutputFile nothing(std::nullopt);
  nothing.write("lost");
  nothing.commit();
  EXPECT_USER_ERROR(OutputFile(folder / "none" / "a"), "no such file or directory");
  EXPECT_USER_ERROR(OutputFile(folder.path()), "it is a directory");
}

TEST(AtomicFile, CanBeWrittenOver) {
  const test::TemporaryDirectory folder;
  AtomicFile file(folder / "a");
  file.write("????");
  file.write(std::string(100'000, 'x'));
  file.overwrite(0, std::as_bytes(std::span("head", 4)));
  file.write("tail");
  file.commit();
  EXPECT_EQ(test::get_file(folder / "a"), "head" + std::string(100'000, 'x') + "tail");
}

}  // namespace
}  // namespace reprise
