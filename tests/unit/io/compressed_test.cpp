// SPDX-License-Identifier: Apache-2.0
#include "io/compressed.h"

#include <gtest/gtest.h>

#include <string>

#include "support/compress.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string unpacked(const std::string& packed) {
  std::string text;
  decompress(compression_of(bytes_of(packed)), bytes_of(packed), "file", [&text](std::span<const std::byte> piece) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return true;
  });
  return text;
}

/// A text of many pieces, and not all alike.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919 % 104'729) + "\n";
  return text;
}

TEST(Compressed, GivesBackWhatTheLibrariesPacked) {
  for (const std::string& text : {std::string("one line\n"), std::string(), long_text(), std::string(std::size_t{1} << 18, 'a'),
                                  std::string((std::size_t{1} << 18) + 1, 'a')}) {
    EXPECT_EQ(unpacked(test::gzip_of(text)), text);
    EXPECT_EQ(unpacked(test::zstd_of(text)), text);
  }
}

TEST(Compressed, MembersAndFramesFollowOneAnother) {
  EXPECT_EQ(unpacked(test::gzip_of("one ") + test::gzip_of("two")), "one two");
  EXPECT_EQ(unpacked(test::zstd_of("one ") + test::zstd_of("two")), "one two");
  EXPECT_EQ(unpacked(test::gzip_of("padded") + std::string(512, '\0')), "padded");
}

TEST(Compressed, IsToldByItsFirstBytes) {
  EXPECT_EQ(compression_of(bytes_of(test::gzip_of("a"))), Compression::gzip);
  EXPECT_EQ(compression_of(bytes_of(test::zstd_of("a"))), Compression::zstd);
  for (const std::string text : {"", "a", "plain text", "\x1F", "\x28\xB5\x2F"}) {
    EXPECT_EQ(compression_of(bytes_of(text)), Compression::none);
  }
  EXPECT_EQ(unpacked("plain text"), "plain text");
}

TEST(Compressed, StopsWhenTheReaderHasEnough) {
  for (const std::string& packed : {test::gzip_of(long_text()), test::zstd_of(long_text())}) {
    std::size_t pieces = 0;
    decompress(compression_of(bytes_of(packed)), bytes_of(packed), "file", [&pieces](std::span<const std::byte>) {
      ++pieces;
      return false;
    });
    EXPECT_EQ(pieces, 1u);
  }
}

TEST(Compressed, RefusesWhatIsCutShortOrDamaged) {
  const std::string gzip = test::gzip_of(long_text());
  const std::string zstd = test::zstd_of(long_text());
  for (const std::size_t cut : {std::size_t{1}, std::size_t{8}, gzip.size() / 2, gzip.size() - 12}) {
    EXPECT_USER_ERROR(unpacked(gzip.substr(0, gzip.size() - cut)), "file is cut short: its gzip data ends early");
  }
  for (const std::size_t cut : {std::size_t{1}, zstd.size() / 2, zstd.size() - 12}) {
    EXPECT_USER_ERROR(unpacked(zstd.substr(0, zstd.size() - cut)), "file is cut short: its zstd data ends early");
  }
  std::string changed = gzip;
  changed[changed.size() - 6] = static_cast<char>(changed[changed.size() - 6] ^ 1);  // the checksum
  EXPECT_USER_ERROR(unpacked(changed), "file is damaged gzip data; copy or download it again");
  changed = zstd;
  changed[5] = static_cast<char>(changed[5] ^ 0x7F);
  EXPECT_USER_ERROR(unpacked(changed), "file is ");
  EXPECT_USER_ERROR(unpacked(gzip + "more"), "something else follows its end");
  EXPECT_USER_ERROR(unpacked(zstd + "more"), "file is damaged zstd data");
}

}  // namespace
}  // namespace reprise
