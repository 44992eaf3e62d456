// SPDX-License-Identifier: Apache-2.0
#include "train/data_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "support/compress.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "train/token_file.h"

namespace reprise {
namespace {

std::string words(std::initializer_list<std::uint32_t> values) {
  std::string bytes;
  for (const std::uint32_t value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return bytes;
}

template <class Token>
std::string bytes_of(const std::vector<Token>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token)};
}

/// A file as llm.c writes it.
template <class Token>
std::string llm_c(std::uint32_t magic, std::uint32_t version, const std::vector<Token>& tokens) {
  std::string header = words({magic, version, static_cast<std::uint32_t>(tokens.size())});
  header.resize(1024);
  return header + bytes_of(tokens);
}

class DataFilesTest : public testing::Test {
 protected:
  test::TemporaryDirectory folder_;

  std::string put(const std::string& name, std::string_view content) const { return folder_.put(name, content); }
  static DataFiles find(std::vector<std::string> paths, DataFormat format = DataFormat::automatic) {
    return find_data_files(paths, format);
  }
  std::vector<std::int64_t> tokens(const std::string& path, DataFormat format) {
    const TokenFile file = TokenFile::open({path, format, false}, folder_ / "spool");
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < file.tokens().size(); ++i) ids.push_back(file.tokens()[i]);
    return ids;
  }
};

TEST_F(DataFilesTest, FormatsGoByNameAndHeader) {
  const std::string text = put("a.txt", "text");
  const std::string lines = put("b.jsonl.gz", test::gzip_of("{}"));
  EXPECT_EQ(find({text, lines, "-"}).files,
            (std::vector<DataFile>{{text, DataFormat::text, false}, {lines, DataFormat::jsonl, false}, {"-", DataFormat::text, true}}));
  const std::string bin = put("c.bin", llm_c<std::uint16_t>(20240520, 1, {1, 2}));
  EXPECT_EQ(find({bin}).files, (std::vector<DataFile>{{bin, DataFormat::llm_c, false}}));
  const std::string raw = put("d.bin", bytes_of<std::uint16_t>({1, 2}));
  EXPECT_USER_ERROR(find({raw}), "d.bin has no header that says what it is; if it holds 16-bit token ids and nothing else");
  EXPECT_USER_ERROR(find({raw}), "give --data_format nanogpt");
  EXPECT_EQ(find({raw}, DataFormat::nanogpt).files[0].format, DataFormat::nanogpt);
  EXPECT_USER_ERROR(find({put("e.json", "[]")}), "e.json may be JSON lines or one value; give --data_format jsonl");
  EXPECT_EQ(find({text}, DataFormat::jsonl).files[0].format, DataFormat::jsonl);
  EXPECT_USER_ERROR(find({text, bin}), "text and token files cannot be mixed; give one kind: ");
}

TEST_F(DataFilesTest, FoldersAreReadWholeAndSorted) {
  put("data/b/2.txt", "two");
  put("data/a.md", "one");
  put("data/b/10.txt", "ten");
  put("data/c.jsonl", "{\"text\": \"x\"}");
  const std::string base = folder_ / "data";
  const DataFiles found = find({base});
  EXPECT_EQ(found.files, (std::vector<DataFile>{{base + "/a.md", DataFormat::text, false},
                                                {base + "/b/10.txt", DataFormat::text, false},
                                                {base + "/b/2.txt", DataFormat::text, false},
                                                {base + "/c.jsonl", DataFormat::jsonl, false}}));
  EXPECT_TRUE(found.skipped.empty());
}

TEST_F(DataFilesTest, WhatIsLeftOutOfAFolderIsSaid) {
  put("data/a.txt", "one");
  put("data/.hidden/b.txt", "two");
  put("data/.c", "three");
  put("data/d.png", std::string("\x89PNG\0", 5));
  put("data/e.txt", "");
  put("data/f.json", "{}");
  put("data/g.bin", "ab");
  std::filesystem::create_directory_symlink(folder_ / "data", folder_ / "data/loop");
  const DataFiles found = find({folder_ / "data"});
  EXPECT_EQ(found.files.size(), 1u);
  ASSERT_EQ(found.skipped.size(), 1u);
  for (const char* phrase :
       {"7 files are left out", "/.c (hidden)", "/.hidden (hidden)", "/d.png (not text)", "/e.txt (empty)", "and 3 more"}) {
    EXPECT_NE(found.skipped[0].find(phrase), std::string::npos) << phrase << " in " << found.skipped[0];
  }
  put("none/a.png", std::string("\x89PNG\0", 5));
  EXPECT_USER_ERROR(find({folder_ / "none"}), "there is no text to train on in the folder");
  EXPECT_USER_ERROR(find({folder_ / "none"}), "left out: " + (folder_ / "none/a.png").string() + " (not text)");
}

TEST_F(DataFilesTest, TokensOfLlmC) {
  EXPECT_EQ(tokens(put("a.bin", llm_c<std::uint16_t>(20240520, 1, {50256, 1, 65535})), DataFormat::llm_c),
            (std::vector<std::int64_t>{50256, 1, 65535}));
  EXPECT_EQ(tokens(put("b.bin", llm_c<std::uint32_t>(20240801, 7, {128000, 1})), DataFormat::llm_c),
            (std::vector<std::int64_t>{128000, 1}));
  const std::string good = llm_c<std::uint16_t>(20240520, 1, {1, 2, 3});
  EXPECT_EQ(tokens(put("c.bin.zst", test::zstd_of(good)), DataFormat::llm_c), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_USER_ERROR(tokens(put("d.bin", good.substr(0, good.size() - 1)), DataFormat::llm_c),
                    "d.bin is cut short: 3 tokens take 1030 bytes, 1029 are there");
  EXPECT_USER_ERROR(tokens(put("d.bin", good + "x"), DataFormat::llm_c), "d.bin is too long: 3 tokens take 1030 bytes, 1031 are there");
  EXPECT_USER_ERROR(tokens(put("d.bin", good.substr(0, 12)), DataFormat::llm_c),
                    "d.bin is cut short: a header has 1024 bytes, 12 are there");
  EXPECT_USER_ERROR(tokens(put("d.bin", llm_c<std::uint16_t>(20240520, 2, {1})), DataFormat::llm_c),
                    "d.bin has version 2 of llm.c's token files");
  EXPECT_USER_ERROR(tokens(put("d.bin", llm_c<std::uint16_t>(7, 1, {1})), DataFormat::llm_c),
                    "d.bin is no token file of llm.c: it does not start with 20240520 or 20240801");
  EXPECT_USER_ERROR(tokens(put("d.bin", llm_c<std::uint16_t>(20240520, 1, {})), DataFormat::llm_c), "d.bin holds no tokens");
}

TEST_F(DataFilesTest, TokensOfNanoGpt) {
  EXPECT_EQ(tokens(put("a.bin", bytes_of<std::uint16_t>({7, 50256, 65535})), DataFormat::nanogpt),
            (std::vector<std::int64_t>{7, 50256, 65535}));
  EXPECT_USER_ERROR(tokens(put("b.bin", "abc"), DataFormat::nanogpt),
                    "b.bin is no file of 16-bit tokens: its number of bytes is odd; copy it again: 3");
  EXPECT_USER_ERROR(tokens(put("b.bin", llm_c<std::uint16_t>(20240520, 1, {1})), DataFormat::nanogpt),
                    "b.bin has the header of llm.c; give --data_format llm.c");
  EXPECT_USER_ERROR(tokens(put("b.bin", ""), DataFormat::nanogpt), "b.bin holds no tokens");
}

TEST(DataFormat, HasNames) {
  for (const std::string_view name : {"auto", "text", "jsonl", "llm.c", "nanogpt"}) {
    EXPECT_EQ(data_format_name(*parse_data_format(name)), name);
  }
  EXPECT_EQ(parse_data_format("parquet"), std::nullopt);
}

}  // namespace
}  // namespace reprise
