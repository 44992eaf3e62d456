// SPDX-License-Identifier: Apache-2.0
#include "train/text_source.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

TEST(TextDocument, LoadsValidTextAsItIs) {
  const test::TemporaryDirectory folder;
  const std::string text = "caf\u00E9 \U0001F600\n";
  test::put_file(folder / "a.txt", text);
  TextDocument document = TextDocument::load(folder / "a.txt");
  EXPECT_EQ(document.text(), text);
  EXPECT_EQ(document.path(), folder / "a.txt");
  EXPECT_EQ(document.replaced_bytes(), 0u);
  const std::string_view view = document.text();
  const TextDocument moved = std::move(document);
  EXPECT_EQ(moved.text().data(), view.data());
}

TEST(TextDocument, ReplacesAFewInvalidBytesAndCountsThem) {
  const test::TemporaryDirectory folder;
  const std::string text(300, 'a');
  test::put_file(folder / "a.txt", text + "\xE9" + text + "\xF0\x9F");
  const TextDocument document = TextDocument::load(folder / "a.txt");
  EXPECT_EQ(document.text(), text + "\uFFFD" + text + "\uFFFD");
  EXPECT_EQ(document.replaced_bytes(), 3u);
}

TEST(TextDocument, RefusesWhatIsNotText) {
  const test::TemporaryDirectory folder;
  EXPECT_USER_ERROR(TextDocument::load(folder / "none.txt"), (folder / "none.txt").string());
  EXPECT_USER_ERROR(TextDocument::load(folder.path()), "directory");
  test::put_file(folder / "empty.txt", "");
  EXPECT_USER_ERROR(TextDocument::load(folder / "empty.txt"),
                    (folder / "empty.txt").string() + " is empty: give a file with text");
  test::put_file(folder / "binary", std::string("ELF\0\1", 5));
  EXPECT_USER_ERROR(TextDocument::load(folder / "binary"),
                    "binary is not text: give plain UTF-8 text; it holds a zero byte, at offset 3");
  test::put_file(folder / "latin1.txt", "caf\xE9 cr\xE8me");
  EXPECT_USER_ERROR(TextDocument::load(folder / "latin1.txt"), "latin1.txt is not UTF-8 text: convert it, as with iconv");
  EXPECT_USER_ERROR(TextDocument::load(folder / "latin1.txt"), "2 of 10 bytes are not UTF-8, the first at offset 3");
}

TEST(LoadDocuments, KeepsTheOrderGiven) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a.txt", "one");
  test::put_file(folder / "b.txt", "two");
  const std::vector<std::string> paths = {folder / "b.txt", folder / "a.txt"};
  const auto documents = load_documents(paths);
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents[0].text(), "two");
  EXPECT_EQ(documents[1].text(), "one");
  EXPECT_USER_ERROR(load_documents({}), "no text was given: name one or more files with --data");
}

using Parts = std::vector<std::string_view>;

TEST(SplitDocuments, TheLastPartIsForValidation) {
  const Parts documents = {"0123456789", "abcdefghij"};
  TextSplit split = split_documents(documents, 0.25);
  EXPECT_EQ(split.train, (Parts{"0123456789", "abcde"}));
  EXPECT_EQ(split.validation, (Parts{"fghij"}));
  split = split_documents(documents, 0.5);
  EXPECT_EQ(split.train, (Parts{"0123456789"}));
  EXPECT_EQ(split.validation, (Parts{"abcdefghij"}));
  split = split_documents(documents, 0.75);
  EXPECT_EQ(split.train, (Parts{"01234"}));
  EXPECT_EQ(split.validation, (Parts{"56789", "abcdefghij"}));
  split = split_documents(documents, 0);
  EXPECT_EQ(split.train, documents);
  EXPECT_TRUE(split.validation.empty());
}

TEST(SplitDocuments, NeverCutsACharacter) {
  const Parts documents = {"ab\U0001F600\u00E9z"};  // 9 bytes
  for (int tenths = 0; tenths < 10; ++tenths) {
    const TextSplit split = split_documents(documents, tenths / 10.0);
    std::string joined;
    for (const auto& parts : {split.train, split.validation}) {
      for (const std::string_view part : parts) {
        EXPECT_NE(static_cast<unsigned char>(part.front()) & 0xC0u, 0x80u);
        joined += part;
      }
    }
    EXPECT_EQ(joined, documents[0]);
  }
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
