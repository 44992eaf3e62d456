// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", std::string_view("one\0two", 7));
  for (const Access access : {Access::normal, Access::sequential, Access::random}) {
    EXPECT_EQ(text_of(MappedFile::open(folder / "a", access)), std::string_view("one\0two", 7));
  }
}

TEST(MappedFile, MovesKeepTheAddress) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", "text");
  MappedFile first = MappedFile::open(folder / "a");
  const std::byte* address = first.bytes().data();
  MappedFile second = std::move(first);
  MappedFile third;
  third = std::move(second);
  EXPECT_EQ(third.bytes().data(), address);
  EXPECT_EQ(text_of(third), "text");
  EXPECT_EQ(third.path(), folder / "a");
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", "");
  EXPECT_TRUE(MappedFile::open(folder / "a").bytes().empty());
}

TEST(MappedFile, ReleasedPagesReadTheSameAgain) {
  const test::TemporaryDirectory folder;
  std::string text(1 << 20, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 4096);
  test::put_file(folder / "a", text);
  const MappedFile file = MappedFile::open(folder / "a");
  ASSERT_EQ(text_of(file), text);
  file.release(file.bytes().subspan(100, 900'000));
  file.release({});
  EXPECT_EQ(text_of(file), text);
  const std::byte outside{};
  EXPECT_INTERNAL_ERROR(file.release({&outside, 1}), "outside the mapping");
}

TEST(MappedFile, SaysWhyAFileCannotBeRead) {
  const test::TemporaryDirectory folder;
  EXPECT_USER_ERROR(MappedFile::open(folder / "none"), "none: no such file or directory; check the path");
  EXPECT_USER_ERROR(MappedFile::open(folder.path()), "it is a directory; give the path of a file");
  test::put_file(folder / "a", "x");
  EXPECT_USER_ERROR(MappedFile::open(folder / "a/b"), "a part of the path is not a directory");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_USER_ERROR(MappedFile::open(folder / "pipe"), "it is not a regular file; copy its contents to a file first");
  EXPECT_USER_ERROR(MappedFile::open(folder / std::string(300, 'x')), "the name is too long");
}

TEST(MappedFile, NamesMissingPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", "x");
  ASSERT_EQ(::chmod((folder / "a").c_str(), 0), 0);
  EXPECT_USER_ERROR(MappedFile::open(folder / "a"), "permission denied; choose a path you have access to");
}

}  // namespace
}  // namespace reprise
