// SPDX-License-Identifier: Apache-2.0
#include "train/token_shards.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "tokenizer/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> characters() { return learn_tokenizer("char", std::vector<std::string_view>{"the cat sat on the mat"}); }

/// A shard of two documents, "tac" and "ate", the second's first token only read.
void write_sample(const std::filesystem::path& path, bool masked = true) {
  const auto tokenizer = characters();
  ShardWriter writer(path, *tokenizer, 0x1234);
  writer.begin_document();
  writer.add(tokenizer->encode("tac"));
  writer.begin_document();
  writer.add(tokenizer->encode("a"), !masked);
  writer.add(tokenizer->encode("te"));
  writer.finish();
}

std::vector<std::int64_t> tokens_of(const TokenShard& shard) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < shard.tokens().size(); ++i) tokens.push_back(shard.tokens()[i]);
  return tokens;
}

std::string targets_of(const TokenShard& shard) {
  std::string targets;
  for (std::int64_t i = 0; i < shard.tokens().size(); ++i) targets += shard.tokens().is_target(i) ? '1' : '0';
  return targets;
}

TEST(TokenShard, HoldsTokensDocumentsAndTargets) {
  const test::TemporaryDirectory folder;
  write_sample(folder / "a.tokens");
  const TokenShard shard = TokenShard::open(folder / "a.tokens", *characters());
  const Ids expected = characters()->encode("tacate");
  EXPECT_EQ(tokens_of(shard), std::vector<std::int64_t>(expected.begin(), expected.end()));
  EXPECT_EQ(shard.tokens().width(), 2);
  EXPECT_EQ(std::vector<std::uint64_t>(shard.documents().begin(), shard.documents().end()), (std::vector<std::uint64_t>{0, 3}));
  EXPECT_EQ(targets_of(shard), "111011");
  EXPECT_EQ(shard.key(), 0x1234u);
  write_sample(folder / "b.tokens", false);
  const TokenShard plain = TokenShard::open(folder / "b.tokens", *characters());
  EXPECT_FALSE(plain.tokens().has_targets());
  EXPECT_EQ(targets_of(plain), "111111");
}

TEST(TokenShard, FormatIsTheDocumentedOne) {
  const test::TemporaryDirectory folder;
  write_sample(folder / "a.tokens");
  const std::string bytes = test::get_file(folder / "a.tokens");
  const auto integer = [&bytes](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 8), "RPRTOKEN");
  EXPECT_EQ(integer(8, 4), 2u);
  EXPECT_EQ(integer(12, 4), 2u);
  EXPECT_EQ(integer(16, 8), 6u);
  EXPECT_EQ(integer(24, 8), 2u);
  EXPECT_EQ(integer(32, 8), 1u);
  EXPECT_EQ(integer(40, 8), 0x1234u);
  EXPECT_EQ(integer(48, 8), characters()->fingerprint());
  EXPECT_EQ(integer(56, 8), 10u);
  ASSERT_EQ(bytes.size(), 80u + 16 + 16 + 8);  // 12 bytes of tokens and 4 zeros, two documents, one word of bits
  EXPECT_EQ(integer(80, 2), 9u);               // " acehmnost"
  EXPECT_EQ(integer(82, 2), 1u);
  EXPECT_EQ(integer(84, 2), 2u);
  EXPECT_EQ(integer(92, 4), 0u);
  EXPECT_EQ(integer(96, 8), 0u);
  EXPECT_EQ(integer(104, 8), 3u);
  EXPECT_EQ(integer(112, 8), 0b110111u);
}

TEST(TokenShard, TargetBitsCrossWords) {
  const test::TemporaryDirectory folder;
  const auto tokenizer = characters();
  ShardWriter writer(folder / "a.tokens", *tokenizer, 0);
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    const bool target = i % 3 != 0;
    writer.begin_document();
    writer.add(Ids(static_cast<std::size_t>(i % 7), 1), target);  // some documents are empty
    expected += std::string(static_cast<std::size_t>(i % 7), target ? '1' : '0');
  }
  writer.finish();
  const TokenShard shard = TokenShard::open(folder / "a.tokens", *tokenizer);
  EXPECT_EQ(targets_of(shard), expected);
  EXPECT_EQ(shard.documents().size(), 34u);
}

TEST(TokenShard, LargeVocabulariesTakeFourBytes) {
  const test::TemporaryDirectory folder;
  std::string text;
  for (char32_t c = 0x10000; c <= 0x20000; ++c) append_utf8(text, c);
  const auto tokenizer = learn_tokenizer("char", std::vector<std::string_view>{text});
  ASSERT_EQ(tokenizer->vocab_size(), 65537);
  ShardWriter writer(folder / "a.tokens", *tokenizer, 0);
  tokenizer->encode_to(text, [&](std::span<const std::int32_t> ids) { writer.add(ids); });
  writer.finish();
  const TokenShard shard = TokenShard::open(folder / "a.tokens", *tokenizer);
  EXPECT_EQ(shard.tokens().width(), 4);
  EXPECT_EQ(shard.tokens().size(), 65537);
  EXPECT_EQ(shard.tokens()[65536], 65536);
}

TEST(TokenShard, NoTokensAreNoDocuments) {
  const test::TemporaryDirectory folder;
  ShardWriter(folder / "a.tokens", *characters(), 0).finish();
  const TokenShard shard = TokenShard::open(folder / "a.tokens", *characters());
  EXPECT_EQ(shard.tokens().size(), 0);
  EXPECT_TRUE(shard.documents().empty());
}

TEST(TokenShard, AnUnfinishedShardIsNotThere) {
  const test::TemporaryDirectory folder;
  {
    ShardWriter writer(folder / "a.tokens", *characters(), 0);
    writer.add(Ids{1, 2, 3});
    EXPECT_EQ(writer.size(), 3);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// The sample shard changed by `change` before it is opened.
template <class Change>
void open_changed(const Change& change) {
  const test::TemporaryDirectory folder;
  const auto path = folder / "a.tokens";
  write_sample(path);
  std::string bytes = test::get_file(path);
  change(bytes);
  test::put_file(path, bytes);
  TokenShard::open(path, *characters());
}

TEST(TokenShard, RefusesDamagedFilesAndSaysHowToRebuild) {
  open_changed([](std::string&) {});
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.pop_back(); }), "is cut short: 120 bytes expected, 119 there");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.pop_back(); }), "delete it and it will be built again");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.resize(63); }), "is cut short: 80 bytes expected at least, 63 there");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.resize(3); }), "is cut short: 80 bytes expected at least, 3 there");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes.push_back('x'); }), "is too long: 120 bytes expected, 121 there");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[0] = 'X'; }), "is not a token shard");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[8] = 3; }), "has format version 3, newer than this program's 2");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[8] = 1; }),
                    "has format version 1, which this program no longer reads; it reads 2");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[16] = 4; }), "its header does not match its checksum");
  EXPECT_USER_ERROR(open_changed([](std::string& bytes) { bytes[82] = 2; }), "its content does not match its checksum");
}

TEST(TokenShard, NoSingleByteChangesUnseen) {
  for (std::size_t at = 0; at < 120; ++at) {
    SCOPED_TRACE(at);
    EXPECT_USER_ERROR(open_changed([at](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ 0x40); }), "a.tokens");
  }
}

TEST(TokenShard, RefusesAnotherTokenizersShard) {
  const test::TemporaryDirectory folder;
  write_sample(folder / "a.tokens");
  const auto other = learn_tokenizer("bpe:257", std::vector<std::string_view>{"the cat"});
  EXPECT_USER_ERROR(TokenShard::open(folder / "a.tokens", *other), "was made with another tokenizer, of 10 tokens where this one has 257");
  EXPECT_USER_ERROR(TokenShard::open(folder / "none.tokens", *other), "none.tokens");
}

TEST(TokenShard, AFullDiskLeavesNoShard) {
  const test::TemporaryDirectory folder;
  for (const std::uint64_t room : {0, 10, 64, 100}) {
    const ScopedWriteFault fault(fail_after_bytes(room, ENOSPC));
    EXPECT_USER_ERROR(write_sample(folder / "a.tokens"), "no space left");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  write_sample(folder / "a.tokens");
  EXPECT_EQ(TokenShard::open(folder / "a.tokens", *characters()).tokens().size(), 6);
}

void feed(const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

TEST(TokenShardFuzz, ReplaysItsCorpus) {
  const test::TemporaryDirectory folder;
  write_sample(folder / "a");
  write_sample(folder / "b", false);
  ShardWriter(folder / "c", *characters(), 0).finish();
  for (const char* name : {"a", "b", "c"}) {
    const std::string bytes = test::get_file(folder / name);
    for (std::size_t size = 0; size <= bytes.size(); ++size) feed(bytes.substr(0, size));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int change : {0x01, 0x80, 0xFF}) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ change);
        feed(changed);
      }
    }
  }
}

}  // namespace
}  // namespace reprise
