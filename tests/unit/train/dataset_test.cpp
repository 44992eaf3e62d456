// SPDX-License-Identifier: Apache-2.0
// From files to shards: every kind of file, the split, what makes a target, and building again.
#include "train/dataset.h"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "io/file_write.h"
#include "io/json.h"
#include "support/compress.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

class DatasetTest : public testing::Test {
 protected:
  test::TemporaryDirectory folder_;
  std::vector<std::string> warnings_;
  int built_ = 0;

  std::string put(const std::string& name, std::string_view content) const { return folder_.put(name, content); }
  DatasetOptions options(std::vector<std::string> paths) {
    DatasetOptions o;
    o.paths = std::move(paths);
    o.validation = "0";
    o.block_size = 2;
    o.warn = [this](const std::string& warning) { warnings_.push_back(warning); };
    return o;
  }
  std::filesystem::path fresh() { return folder_ / ("data" + std::to_string(built_++)); }
  Dataset build(const DatasetOptions& o) { return build_dataset(fresh(), o); }

  /// A byte-level tokenizer: 256 bytes and the end of text, so that its ids are known.
  std::string byte_tokenizer() {
    const std::string path = folder_ / "tokenizer.json";
    if (!std::filesystem::exists(path)) write_text_file(path, learn_tokenizer("bpe:257", std::vector<std::string_view>{"aa"})->to_json());
    return path;
  }
};

/// The text of a shard: documents between bars, "|" for an end of text, what is only read in capitals.
std::string text_of(const Dataset& data, const TokenShard& shard) {
  std::string text;
  std::size_t document = 0;
  for (std::int64_t i = 0; i < shard.tokens().size(); ++i) {
    if (document < shard.documents().size() && shard.documents()[document] == static_cast<std::uint64_t>(i)) {
      if (document > 0) text += "/";
      ++document;
    }
    const auto id = static_cast<std::int32_t>(shard.tokens()[i]);
    std::string token = data.tokenizer->end_of_text() == id ? "|" : data.tokenizer->decode(std::vector{id});
    if (!shard.tokens().is_target(i)) {
      for (char& c : token) c = static_cast<char>(std::toupper(c));
    }
    text += token;
  }
  return text;
}

TEST_F(DatasetTest, DocumentsEndWithTheEndOfText) {
  DatasetOptions o =
      options({put("a.txt", "one"), put("b.txt.gz", test::gzip_of("two")), put("c.jsonl", "{\"text\": \"x\"}\n{\"text\": \"yz\"}\n")});
  o.tokenizer = byte_tokenizer();
  const Dataset data = build(o);
  EXPECT_EQ(text_of(data, data.train), "one|/two|/x|/yz|");
  EXPECT_FALSE(data.validation.has_value());
  EXPECT_EQ(data.text_bytes, 9);
  EXPECT_EQ(data.files, 3);
  o.tokenizer = "char";
  const Dataset characters = build(o);
  EXPECT_EQ(text_of(characters, characters.train), "one/two/x/yz");
}

TEST_F(DatasetTest, DocumentsStandInTheTokenizersFrame) {
  const auto plain = load_tokenizer(byte_tokenizer());
  Json root = parse_json(plain->to_json(), "plain");
  const std::int32_t end = *plain->end_of_text();
  const auto with_frame = [&](const TextFrame& frame) {
    root.set("post_processor", write_text_frame(frame, [](std::int32_t id) { return std::to_string(id); }));
    DatasetOptions o = options({put("a.jsonl", "{\"text\": \"a\"}\n{\"prompt\": \"p\", \"completion\": \"b\"}\n")});
    o.tokenizer = put("framed.json", write_json(root));
    const Dataset data = build(o);
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < data.train.tokens().size(); ++i) {
      ids.push_back(data.train.tokens()[i] * (data.train.tokens().is_target(i) ? 1 : -1));
    }
    return ids;
  };
  const std::int64_t a = plain->encode("a")[0];
  const std::int64_t b = plain->encode("b")[0];
  const std::int64_t p = plain->encode("p")[0];
  EXPECT_EQ(with_frame({.before = {9}, .after = {}}), (std::vector<std::int64_t>{9, a, end, -9, -p, b, end}));
  EXPECT_EQ(with_frame({.before = {}, .after = {8}}), (std::vector<std::int64_t>{a, 8, end, -p, b, 8, end}));
  EXPECT_EQ(with_frame({.before = {}, .after = {end}}), (std::vector<std::int64_t>{a, end, -p, b, end}));
}

TEST_F(DatasetTest, OnlyTheCompletionIsLearned) {
  DatasetOptions o =
      options({put("a.jsonl", "{\"prompt\": \"ask\", \"completion\": \"tell\"}\n{\"prompt\": \"b\", \"completion\": \"c\"}\n")});
  o.tokenizer = byte_tokenizer();
  Dataset data = build(o);
  EXPECT_EQ(text_of(data, data.train), "ASKtell|/Bc|");
  o.mask_prompt = false;
  data = build(o);
  EXPECT_EQ(text_of(data, data.train), "asktell|/bc|");
  EXPECT_FALSE(data.train.tokens().has_targets());
}

TEST_F(DatasetTest, ATextIsCutForValidationAndALineIsNot) {
  DatasetOptions o = options({put("a.txt", "0123456789"), put("b.txt", "abcdefghij")});
  o.tokenizer = byte_tokenizer();
  o.validation = "0.25";
  Dataset data = build(o);
  EXPECT_EQ(text_of(data, data.train), "0123456789|/abcde");
  EXPECT_EQ(text_of(data, *data.validation), "fghij|");
  o.validation = "0.5";
  data = build(o);
  EXPECT_EQ(text_of(data, data.train), "0123456789|");
  EXPECT_EQ(text_of(data, *data.validation), "abcdefghij|");
  o.paths = {put("c.jsonl", "{\"text\": \"aaaa\"}\n{\"text\": \"bbbb\"}\n{\"text\": \"cccc\"}\n")};
  o.validation = "0.5";
  data = build(o);
  EXPECT_EQ(text_of(data, data.train), "aaaa|");
  EXPECT_EQ(text_of(data, *data.validation), "bbbb|/cccc|");
  o.validation = "0.1";
  data = build(o);
  EXPECT_EQ(text_of(data, data.train), "aaaa|/bbbb|");
}

TEST_F(DatasetTest, NothingLeftToValidateOnIsSaid) {
  DatasetOptions o = options({put("a.jsonl", "{\"text\": \"only one line\"}\n")});
  o.validation = "0.5";
  const Dataset data = build(o);
  EXPECT_FALSE(data.validation.has_value());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("no text is left to validate on"), std::string::npos);
}

TEST_F(DatasetTest, ValidationCanHaveItsOwnFiles) {
  DatasetOptions o = options({put("a.txt", "abc")});
  put("held/one.txt", "bca");
  put("held/two.jsonl", "{\"text\": \"cd\"}\n");
  o.validation = folder_ / "held";
  const Dataset data = build(o);
  EXPECT_EQ(text_of(data, data.train), "abc");
  EXPECT_EQ(text_of(data, *data.validation), "bca/cd");  // and the tokenizer has learned the d
}

std::string nanogpt(const std::vector<std::uint16_t>& tokens) { return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 2}; }

std::string llm_c(const std::vector<std::uint16_t>& tokens) {
  const std::uint32_t header[3] = {20240520, 1, static_cast<std::uint32_t>(tokens.size())};
  std::string bytes(reinterpret_cast<const char*>(header), sizeof(header));
  bytes.resize(1024);
  return bytes + nanogpt(tokens);
}

TEST_F(DatasetTest, TokenFilesAreTakenAsTheyAre) {
  DatasetOptions o = options({put("a.bin", llm_c({0, 66, 67, 0, 68})), put("b.bin", llm_c({69, 0, 70, 71}))});
  o.tokenizer = byte_tokenizer();  // 0: end of text, 66: 'b', ...
  Dataset data = build(o);
  const auto letters = [&](std::initializer_list<std::int32_t> ids) { return data.tokenizer->decode(std::vector<std::int32_t>(ids)); };
  EXPECT_EQ(text_of(data, data.train), "|" + letters({66, 67}) + "/|" + letters({68, 69}) + "/|" + letters({70, 71}));
  o.paths = {put("c.bin", nanogpt({66, 67, 0, 68, 0, 69}))};
  o.format = DataFormat::nanogpt;
  o.validation = "0.34";
  data = build(o);
  EXPECT_EQ(text_of(data, data.train), letters({66, 67}) + "|/" + letters({68}));
  EXPECT_EQ(text_of(data, *data.validation), "|/" + letters({69}));
  EXPECT_EQ(data.text_bytes, 0);
}

TEST_F(DatasetTest, RefusesTokensThatDoNotFit) {
  DatasetOptions o = options({put("a.bin", llm_c({1, 2, 257, 3}))});
  o.tokenizer = byte_tokenizer();
  EXPECT_USER_ERROR(build(o), "a.bin: token 2 is 257, but the tokenizer has 257 tokens; give the tokenizer that the file was made with");
  o.tokenizer = "char";
  EXPECT_USER_ERROR(build(o), "a tokenizer cannot be learned from token ids; give the one the files were made with: --tokenizer FILE");
  EXPECT_USER_ERROR(check_data_files(o), "a tokenizer cannot be learned from token ids");
  o.tokenizer = byte_tokenizer();
  o.validation = put("a.txt", "text");
  EXPECT_USER_ERROR(build(o), "--data and --val_data must both be text or both be tokens");
}

TEST_F(DatasetTest, ACharacterWithoutAnIdIsFound) {
  write_text_file(folder_ / "small.json", learn_tokenizer("char", std::vector<std::string_view>{"ab"})->to_json());
  DatasetOptions o = options({put("a.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"abc\"}\n")});
  o.tokenizer = folder_ / "small.json";
  EXPECT_USER_ERROR(build(o), "a.jsonl:2: character 'c' (U+0063) is not among the 2 characters");
}

TEST_F(DatasetTest, RefusesTextShorterThanABlock) {
  DatasetOptions o = options({put("a.txt", "ab")});
  EXPECT_USER_ERROR(build(o), "the training text is shorter than a block: 2 tokens, and a block of 2 needs 3");
}

TEST_F(DatasetTest, OpensWhatWasBuilt) {
  DatasetOptions o = options({put("a.txt", "abcdef")});
  o.validation = "0.4";
  const std::filesystem::path folder = fresh();
  EXPECT_FALSE(has_dataset(folder));
  const Dataset built = build_dataset(folder, o);
  EXPECT_TRUE(has_dataset(folder));
  std::filesystem::remove(folder_ / "a.txt");  // needed no more
  const Dataset opened = open_dataset(folder, o);
  EXPECT_EQ(text_of(opened, opened.train), text_of(built, built.train));
  EXPECT_EQ(text_of(opened, *opened.validation), text_of(built, *built.validation));
  EXPECT_EQ(opened.tokenizer->fingerprint(), built.tokenizer->fingerprint());
}

TEST_F(DatasetTest, AShardThatIsGoneIsBuiltAgain) {
  DatasetOptions o = options({put("a.txt", "abcdefgh")});
  o.validation = "0.5";
  o.tokenizer = "bpe:257";
  const std::filesystem::path folder = fresh();
  const std::filesystem::path shard = build_dataset(folder, o).train.path();
  const std::string bytes = test::get_file(shard);
  std::filesystem::remove(shard);
  const Dataset again = open_dataset(folder, o);
  EXPECT_EQ(test::get_file(shard), bytes);
  EXPECT_TRUE(again.validation.has_value());
  std::filesystem::remove(shard);
  put("a.txt", "abcdefgX");
  EXPECT_USER_ERROR(open_dataset(folder, o), "is missing and the text is no longer what it was made from");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);  // tokenizer, manifest, validation shard
  o.paths = {"-"};
  EXPECT_USER_ERROR(open_dataset(folder, o), "its text came through a pipe, so that it cannot be built again");
}

TEST_F(DatasetTest, RefusesDataOfAnotherVersion) {
  const std::filesystem::path folder = fresh();
  std::filesystem::create_directories(folder);
  write_text_file(folder / "data.json", R"({"format_version": 1, "train": "train-1.tokens"})");
  EXPECT_USER_ERROR(open_dataset(folder, options({})), "data format 1 is older than this program reads (2); start another run");
  write_text_file(folder / "data.json", R"({"format_version": 3, "train": "train-1.tokens"})");
  EXPECT_USER_ERROR(open_dataset(folder, options({})), "data format 3 is newer than this program reads (2)");
}

TEST_F(DatasetTest, TheSameFilesGiveTheSameShards) {
  put("data/a.txt", "some text");
  put("data/b.jsonl.zst", test::zstd_of("{\"prompt\": \"p\", \"completion\": \"c\"}\n"));
  DatasetOptions o = options({folder_ / "data"});
  o.validation = "0.3";
  const Dataset first = build(o);
  const Dataset second = build(o);
  EXPECT_EQ(first.train.path().filename(), second.train.path().filename());
  EXPECT_EQ(test::get_file(first.train.path()), test::get_file(second.train.path()));
  EXPECT_EQ(test::get_file(first.validation->path()), test::get_file(second.validation->path()));
  o.mask_prompt = false;
  EXPECT_NE(build(o).train.path().filename(), first.train.path().filename());
}

}  // namespace
}  // namespace reprise
