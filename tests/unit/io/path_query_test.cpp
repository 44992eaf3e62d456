// SPDX-License-Identifier: Apache-2.0
#include "io/path_query.h"

#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

TEST(PathQuery, TellsFilesFoldersAndNothing) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "file", "four");
  EXPECT_TRUE(path_exists(folder / "file") && is_plain_file(folder / "file") && !is_folder(folder / "file"));
  EXPECT_TRUE(path_exists(folder.path()) && is_folder(folder.path()) && !is_plain_file(folder.path()));
  EXPECT_FALSE(path_exists(folder / "none"));
  EXPECT_FALSE(path_exists(folder / "file/below"));
  EXPECT_EQ(file_bytes(folder / "file"), 4u);
  fs::create_symlink("file", folder / "link");
  EXPECT_EQ(resolved_path(folder / "link"), resolved_path(folder.path()) / "file");
}

TEST(PathQuery, WhatTheSystemDoesNotTellIsNotTakenForNothing) {
  const test::TemporaryDirectory folder;
  fs::create_symlink("circle", folder / "circle");
  EXPECT_USER_ERROR(path_exists(folder / "circle"), "circle: too many symbolic links; check the path");
  EXPECT_USER_ERROR(is_folder(folder / "circle/below"), "below: too many symbolic links");
  EXPECT_USER_ERROR(is_plain_file(std::string(5000, 'a')), "the name is too long; choose a shorter path");
  EXPECT_USER_ERROR(file_bytes(folder / "none"), "none: no such file or directory; check the path");
  EXPECT_USER_ERROR(resolved_path(folder / "none"), "none: no such file or directory; check the path");
}

}  // namespace
}  // namespace reprise
