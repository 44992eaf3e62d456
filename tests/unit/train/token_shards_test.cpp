// SPDX-License-Identifier: Apache-2.0
#include "train/token_shards.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "io/json.h"
#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "tokenizer/utf8.h"

namespace reprise {
namespace {

using Documents = std::vector<std::string_view>;

const Documents kDocuments = {"the cat sat on the mat", "the hat sat on the cat"};

std::vector<std::int64_t> tokens_of(const TokenShard& shard) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < shard.tokens().size(); ++i) tokens.push_back(shard.tokens()[i]);
  return tokens;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(TokenShard, HoldsTheDocumentsWithTheirSeparators) {
  const test::TemporaryDirectory folder;
  const auto tokenizer = learn_tokenizer("bpe:265", kDocuments);
  const TokenShard shard = open_or_build_shard(folder / "cache", "train", kDocuments, *tokenizer);
  std::vector<std::int64_t> expected;
  for (const std::int32_t id : tokenizer->encode(kDocuments[0])) expected.push_back(id);
  expected.push_back(*tokenizer->end_of_text());
  for (const std::int32_t id : tokenizer->encode(kDocuments[1])) expected.push_back(id);
  EXPECT_EQ(tokens_of(shard), expected);
  EXPECT_EQ(shard.tokens().width(), 2);
  EXPECT_EQ(test::get_file(shard.path()).size(), 64 + 2 * expected.size());
}

TEST(TokenShard, DocumentsStandInTheTokenizersFrame) {
  const test::TemporaryDirectory folder;
  const auto plain = learn_tokenizer("bpe:257", kDocuments);
  const std::int32_t end = *plain->end_of_text();
  Json root = parse_json(plain->to_json(), "plain");
  const auto with_frame = [&](const TextFrame& frame) {
    root.set("post_processor", write_text_frame(frame, [](std::int32_t id) { return std::to_string(id); }));
    return parse_tokenizer(write_json(root), "framed");
  };
  const auto tokens = [&](const TextFrame& frame) {
    return tokens_of(open_or_build_shard(folder.path(), "train", Documents{"a", "b"}, *with_frame(frame)));
  };
  const std::int64_t a = plain->encode("a")[0];
  const std::int64_t b = plain->encode("b")[0];
  EXPECT_EQ(tokens({.before = {9}, .after = {}}), (std::vector<std::int64_t>{9, a, end, 9, b}));
  EXPECT_EQ(tokens({.before = {}, .after = {8}}), (std::vector<std::int64_t>{a, 8, end, b, 8}));
  EXPECT_EQ(tokens({.before = {}, .after = {end}}), (std::vector<std::int64_t>{a, end, b, end}));
}

TEST(TokenShard, FormatIsTheDocumentedOne) {
  const test::TemporaryDirectory folder;
  const auto tokenizer = learn_tokenizer("char", kDocuments);
  write_shard(folder / "a.tokens", Documents{"tac"}, *tokenizer);
  const std::string bytes = test::get_file(folder / "a.tokens");
  const auto integer = [&bytes](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 8), "RPRTOKEN");
  EXPECT_EQ(integer(8, 4), 1u);
  EXPECT_EQ(integer(12, 4), 2u);
  EXPECT_EQ(integer(16, 8), 3u);
  EXPECT_EQ(integer(32, 8), tokenizer->fingerprint());
  EXPECT_EQ(integer(48, 8), 10u);
  ASSERT_EQ(bytes.size(), 70u);
  EXPECT_EQ(integer(64, 2), 9u);  // " acehmnost"
  EXPECT_EQ(integer(66, 2), 1u);
  EXPECT_EQ(integer(68, 2), 2u);
}

TEST(TokenShard, IsBuiltOnceAndAgainForOtherTextOrTokenizer) {
  const test::TemporaryDirectory folder;
  const auto characters = learn_tokenizer("char", kDocuments);
  const auto first = open_or_build_shard(folder.path(), "train", kDocuments, *characters).path();
  const auto written = std::filesystem::last_write_time(first);
  EXPECT_EQ(open_or_build_shard(folder.path(), "train", kDocuments, *characters).path(), first);
  EXPECT_EQ(std::filesystem::last_write_time(first), written);
  EXPECT_EQ(files_in(folder.path()).size(), 1u);
  EXPECT_NE(open_or_build_shard(folder.path(), "train", kDocuments, *learn_tokenizer("bpe:260", kDocuments)).path(), first);
  // The same bytes cut otherwise are other documents.
  const Documents joined = {"the cat sat on the matthe hat sat on the cat"};
  EXPECT_NE(open_or_build_shard(folder.path(), "train", joined, *characters).path(), first);
  EXPECT_NE(open_or_build_shard(folder.path(), "val", kDocuments, *characters).path(), first);
  EXPECT_EQ(files_in(folder.path()).size(), 4u);
}

TEST(TokenShard, LargeVocabulariesTakeFourBytes) {
  const test::TemporaryDirectory folder;
  std::string text;
  for (char32_t c = 0x10000; c <= 0x20000; ++c) append_utf8(text, c);
  const Documents documents = {text};
  const auto tokenizer = learn_tokenizer("char", documents);
  ASSERT_EQ(tokenizer->vocab_size(), 65537);
  const TokenShard shard = open_or_build_shard(folder.path(), "train", documents, *tokenizer);
  EXPECT_EQ(shard.tokens().width(), 4);
  EXPECT_EQ(shard.tokens()[65536], 65536);
}

/// A shard of three tokens changed by `change` before it is opened.
template <class Change>
void open_changed(const Change& change) {
  const test::TemporaryDirectory folder;
  const auto tokenizer = learn_tokenizer("char", kDocuments);
  const auto path = folder / "a.tokens";
  write_shard(path, Documents{"tac"}, *tokenizer);
  std::string bytes = test::get_file(path);
  change(bytes);
  test::put_file(path, bytes);
  TokenShard::open(path, *tokenizer);
}

TEST(TokenShard, RefusesDamagedFilesAndSaysHowToRebuild) {
  open_changed([](std::string&) {});
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.pop_back(); }), "is cut short: 70 bytes expected, 69 there");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.pop_back(); }), "delete it and it will be built again");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.resize(63); }),
                    "is cut short: 64 bytes expected at least, 63 there");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.push_back('x'); }), "is too long: 70 bytes expected, 71 there");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[0] = 'X'; }), "is not a token shard");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[8] = 2; }), "has format version 2, newer than this program's 1");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[16] = 4; }), "its header does not match its checksum");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[66] = 2; }), "its tokens do not match their checksum");
}

TEST(TokenShard, NoSingleByteChangesUnseen) {
  for (std::size_t at = 0; at < 70; ++at) {
    SCOPED_TRACE(at);
    EXPECT_USER_ERROR(open_changed([at](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ 0x40); }), "a.tokens");
  }
}

TEST(TokenShard, RefusesAnotherTokenizersShard) {
  const test::TemporaryDirectory folder;
  write_shard(folder / "a.tokens", kDocuments, *learn_tokenizer("char", kDocuments));
  EXPECT_USER_ERROR(TokenShard::open(folder / "a.tokens", *learn_tokenizer("bpe:257", kDocuments)),
                    "was made with another tokenizer, of 10 tokens where this one has 257");
  EXPECT_USER_ERROR(TokenShard::open(folder / "none.tokens", *learn_tokenizer("char", kDocuments)), "none.tokens");
}

TEST(TokenShard, AFullDiskLeavesNoShard) {
  const test::TemporaryDirectory folder;
  const auto tokenizer = learn_tokenizer("char", kDocuments);
  for (const std::uint64_t room : {0, 10, 64, 100}) {
    const ScopedWriteFault fault(fail_after_bytes(room, ENOSPC));
    EXPECT_USER_ERROR(open_or_build_shard(folder.path(), "train", kDocuments, *tokenizer), "no space left");
  }
  EXPECT_TRUE(files_in(folder.path()).empty());
  EXPECT_EQ(open_or_build_shard(folder.path(), "train", kDocuments, *tokenizer).tokens().size(), 44);
}

}  // namespace
}  // namespace reprise
