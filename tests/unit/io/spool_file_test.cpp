// SPDX-License-Identifier: Apache-2.0
#include "io/spool_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

std::string content(const MappedFile& file) { return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}; }

TEST(SpoolFile, MapsWhatWasWritten) {
  const test::TemporaryDirectory folder;
  SpoolFile file(folder / "new");
  const std::string large(300'000, 'b');
  file.write("a");
  file.write(large);
  file.write("c");
  EXPECT_EQ(file.size(), large.size() + 2);
  const MappedFile mapped = file.map();
  EXPECT_EQ(content(mapped), "a" + large + "c");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "new"));  // it has no name
}

TEST(SpoolFile, NothingWrittenIsNoBytes) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(content(SpoolFile(folder.path()).map()), "");
}

TEST(SpoolFile, AFullDiskIsAnError) {
  const test::TemporaryDirectory folder;
  SpoolFile file(folder.path());
  const ScopedWriteFault fault(fail_after_bytes(100, ENOSPC));
  file.write(std::string(1000, 'a'));
  EXPECT_USER_ERROR(file.map(), "no space left on device");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace reprise
