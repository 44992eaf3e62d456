// SPDX-License-Identifier: Apache-2.0
#include "train/text_source.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "support/compress.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

/// A document with its texts kept.
struct Kept {
  std::string prompt, text, where;
  friend bool operator==(const Kept&, const Kept&) = default;
};

std::vector<Kept> pass(TextSource& source) {
  std::vector<Kept> documents;
  source.read([&](const Document& d) { documents.push_back({std::string(d.prompt), std::string(d.text), d.where()}); });
  return documents;
}

class TextSourceTest : public testing::Test {
 protected:
  test::TemporaryDirectory folder_;

  std::string put(const std::string& name, std::string_view content) const { return folder_.put(name, content); }
  TextSource source(std::vector<std::string> paths, std::optional<std::string> field = {}, DataFormat format = DataFormat::automatic) {
    return TextSource(find_data_files(paths, format).files, {std::move(field), folder_ / "spool"});
  }
  /// Both passes over the files, which must be equal.
  std::vector<Kept> read(std::vector<std::string> paths, std::optional<std::string> field = {}) {
    TextSource opened = source(std::move(paths), std::move(field));
    const std::vector<Kept> first = pass(opened);
    EXPECT_EQ(pass(opened), first);
    return first;
  }
};

TEST_F(TextSourceTest, AFileIsADocument) {
  const std::string text = "caf\u00E9 \U0001F600\n";
  const std::string b = put("b.txt", text);
  const std::string a = put("a.txt", "one");
  EXPECT_EQ(read({b, a}), (std::vector<Kept>{{"", text, b}, {"", "one", a}}));
}

TEST_F(TextSourceTest, CompressedFilesAreDecompressed) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string gz = put("a.txt.gz", test::gzip_of(text));
  const std::string zst = put("b.txt.zst", test::zstd_of(text));
  const std::string unnamed = put("c", test::gzip_of("called otherwise"));
  EXPECT_EQ(read({gz, zst, unnamed}), (std::vector<Kept>{{"", text, gz}, {"", text, zst}, {"", "called otherwise", unnamed}}));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "spool"));
}

TEST_F(TextSourceTest, RefusesBadCompressedFiles) {
  const std::string packed = test::gzip_of(std::string(10'000, 'a') + "b");
  EXPECT_USER_ERROR(read({put("cut.gz", packed.substr(0, packed.size() - 9))}), "cut.gz is cut short: its gzip data ends early");
  EXPECT_USER_ERROR(read({put("plain.gz", "not packed")}), "plain.gz is not compressed, though it is called so");
  EXPECT_USER_ERROR(read({put("plain.zst", "not packed")}), "plain.zst is not compressed");
}

TEST_F(TextSourceTest, JsonLinesAreDocuments) {
  const std::string path =
      put("a.jsonl", "{\"text\": \"one\\n\", \"id\": 1}\n\n  \r\n{\"id\": 2, \"text\": \"tw\\u00f6\"}\r\n{\"text\": \"last\"}");
  EXPECT_EQ(read({path}), (std::vector<Kept>{{"", "one\n", path + ":1"}, {"", "tw\u00F6", path + ":4"}, {"", "last", path + ":5"}}));
  const std::string packed = put("b.ndjson.zst", test::zstd_of("{\"body\": \"other\"}\n"));
  EXPECT_EQ(read({packed}, "body"), (std::vector<Kept>{{"", "other", packed + ":1"}}));
}

TEST_F(TextSourceTest, PromptAndCompletion) {
  const std::string path = put("a.jsonl", "{\"prompt\": \"2+2=\", \"completion\": \"4\"}\n{\"prompt\": \"\", \"completion\": \"x\"}\n");
  EXPECT_EQ(read({path}), (std::vector<Kept>{{"2+2=", "4", path + ":1"}, {"", "x", path + ":2"}}));
  EXPECT_EQ(read({path}, "prompt").front().text, "2+2=");
}

TEST_F(TextSourceTest, LinesWithoutTextAreLeftOutAndSaid) {
  TextSource opened = source({put("a.jsonl", "{\"text\": \"\"}\n{\"text\": \"a\"}\n{\"prompt\": \"p\", \"completion\": \"\"}\n")});
  EXPECT_EQ(pass(opened).size(), 1u);
  ASSERT_EQ(opened.warnings().size(), 1u);
  EXPECT_NE(opened.warnings()[0].find("2 lines without text are left out"), std::string::npos);
  pass(opened);
  EXPECT_EQ(opened.warnings().size(), 1u);
  EXPECT_USER_ERROR(read({put("b.jsonl", "{\"text\": \"\"}\n")}), "b.jsonl holds no text");
  EXPECT_USER_ERROR(read({put("c.jsonl", "")}), "c.jsonl holds no text");
}

TEST_F(TextSourceTest, ABadLineIsNamed) {
  EXPECT_USER_ERROR(read({put("a.jsonl", "{\"text\": \"one\"}\n{\"text\": }\n")}), "a.jsonl:2:");
  EXPECT_USER_ERROR(read({put("b.jsonl", "{\"text\": \"one\"}\n\n[1]\n")}),
                    "b.jsonl:3: a line must be a JSON object, such as {\"text\": \"...\"}, not array");
  EXPECT_USER_ERROR(
      read({put("c.jsonl", "{\"body\": \"a\", \"id\": 1}\n")}),
      "c.jsonl:1: the field \"text\" is missing; name the field that holds the text with --text_field, or the fields \"prompt\" and "
      "\"completion\"; it has: body, id");
  EXPECT_USER_ERROR(read({put("d.jsonl", "{\"text\": 3}\n")}), "d.jsonl:1: the field \"text\" must be a string, not integer");
  EXPECT_USER_ERROR(read({put("e.jsonl", "{\"text\": \"a\", \"prompt\": \"b\", \"completion\": \"c\"}\n")}),
                    "e.jsonl:1: it has the field \"text\" as well");
  EXPECT_USER_ERROR(read({put("f.jsonl", "{\"text\": \"a\xFF\"}\n")}), "f.jsonl:1:");
  EXPECT_USER_ERROR(read({put("g.jsonl", "{\"text\": \"a\"}\n")}, "body"),
                    "the field \"body\" is missing; name the field that holds the text with --text_field; it has: text");
}

TEST_F(TextSourceTest, ReplacesAFewInvalidBytesAndCountsThem) {
  const std::string text(300, 'a');
  const std::string path = put("a.txt", text + "\xE9" + text + "\xF0\x9F");
  TextSource opened = source({path});
  EXPECT_EQ(pass(opened), (std::vector<Kept>{{"", text + "\uFFFD" + text + "\uFFFD", path}}));
  EXPECT_EQ(pass(opened)[0].text, text + "\uFFFD" + text + "\uFFFD");
  EXPECT_EQ(opened.warnings(), std::vector<std::string>{path + ": 3 bytes are not UTF-8 and were replaced by U+FFFD"});
}

TEST_F(TextSourceTest, RefusesWhatIsNotText) {
  EXPECT_USER_ERROR(read({folder_ / "none.txt"}), (folder_ / "none.txt").string());
  EXPECT_USER_ERROR(read({put("empty.txt", "")}), "empty.txt is empty: give a file with text");
  EXPECT_USER_ERROR(read({put("binary", std::string("ELF\0\1", 5))}),
                    "binary is not text: give plain UTF-8 text; it holds a zero byte, at offset 3");
  const std::string latin1 = put("latin1.txt", "caf\xE9 cr\xE8me");
  EXPECT_USER_ERROR(read({latin1}), "latin1.txt is not UTF-8 text: convert it, as with iconv");
  EXPECT_USER_ERROR(read({latin1}), "2 of 10 bytes are not UTF-8, the first at offset 3");
  EXPECT_USER_ERROR(find_data_files({}, DataFormat::automatic), "no text was given: name one or more files with --data");
}

/// A pipe with a name, and a thread that writes into it once.
std::thread write_pipe(const std::filesystem::path& path, std::string content) {
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  return std::thread([path, content = std::move(content)] { test::put_file(path, content); });
}

TEST_F(TextSourceTest, APipeIsReadOnceAndPassedOverTwice) {
  std::thread writer = write_pipe(folder_ / "pipe", "from a pipe");
  EXPECT_EQ(read({folder_ / "pipe"}), (std::vector<Kept>{{"", "from a pipe", folder_ / "pipe"}}));
  writer.join();
  writer = write_pipe(folder_ / "packed", test::zstd_of("packed in a pipe"));
  EXPECT_EQ(read({folder_ / "packed"})[0].text, "packed in a pipe");
  writer.join();
}

TEST_F(TextSourceTest, WhatHasNoEndIsRefused) {
  EXPECT_USER_ERROR(read({"/dev/zero"}),
                    "/dev/zero is a device, which need not end: copy what is wanted of it to a file, or pipe it to --data -");
  EXPECT_USER_ERROR(read({"/dev/null"}), "/dev/null is a device");
  std::thread writer = write_pipe(folder_ / "zeros", std::string("text") + std::string(10, '\0'));
  EXPECT_USER_ERROR(read({folder_ / "zeros"}), "is not text: give plain UTF-8 text; it holds a zero byte, at offset 4");
  writer.join();
}

TEST(CharacterStart, NeverCutsACharacter) {
  const std::string text = "ab\U0001F600\u00E9z";  // 9 bytes
  const std::size_t expected[] = {0, 1, 2, 6, 6, 6, 6, 8, 8, 9};
  for (std::size_t cut = 0; cut < 10; ++cut) EXPECT_EQ(character_start(text, cut), expected[cut]) << cut;
}

TEST(ValidationFraction, IsANumberOrNot) {
  EXPECT_EQ(parse_validation_fraction("0.1"), 0.1);
  EXPECT_EQ(parse_validation_fraction("0"), 0.0);
  EXPECT_EQ(parse_validation_fraction("val.txt"), std::nullopt);
  EXPECT_EQ(parse_validation_fraction("0.1.txt"), std::nullopt);
  EXPECT_EQ(parse_validation_fraction(""), std::nullopt);
  EXPECT_USER_ERROR(parse_validation_fraction("1"), "val_data as a fraction must be at least 0 and below 1");
  EXPECT_USER_ERROR(parse_validation_fraction("-0.5"), "or ./-0.5 for a file of that name; got -0.5");
}

}  // namespace
}  // namespace reprise
