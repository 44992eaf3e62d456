// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tiktoken.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "io/file_write.h"
#include "io/json.h"
#include "support/expect_error.h"
#include "support/reference_directory.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

/// The 256 bytes in order, then "ab", "abc", " ab".
std::string small_file() {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    text += kDigits[byte >> 2];
    text += kDigits[byte << 4 & 0x3F];
    text += "== " + std::to_string(byte) + "\n";
  }
  return text + "YWI= 256\nYWJj 257\nIGFi 258\n";
}

TiktokenFormat format() {
  TiktokenFormat format;
  format.special = {"<s>", "<e>"};
  format.bos = 0;
  format.eos = 1;
  return format;
}

TEST(Tiktoken, MergesByRank) {
  const auto tokenizer = parse_tiktoken(small_file(), "t.tiktoken", format());
  EXPECT_EQ(tokenizer->vocab_size(), 261);
  EXPECT_EQ(tokenizer->encode("abc ab<e>\xFF"), (Ids{257, 258, 260, 255}));
  EXPECT_EQ(tokenizer->encode("abab"), (Ids{256, 256}));
  EXPECT_EQ(tokenizer->encode_framed("b"), (Ids{259, 'b'}));
  EXPECT_EQ(tokenizer->end_of_text(), 260);
  EXPECT_EQ(tokenizer->decode(Ids{258, 257}), " ababc");
  const auto again = parse_tokenizer(tokenizer->to_json(), "again");
  EXPECT_EQ(again->encode("abc ab<e>"), (Ids{257, 258, 260}));
  EXPECT_EQ(again->to_json(), tokenizer->to_json());
}

TEST(Tiktoken, KnowsFilesByTheirNumberOfTokens) {
  EXPECT_EQ(tiktoken_format(50256, "t").special, (std::vector<std::string>{"<|endoftext|>"}));
  const TiktokenFormat llama3 = tiktoken_format(128000, "t");
  EXPECT_EQ(llama3.special.size(), 256u);
  EXPECT_EQ(llama3.special.at(*llama3.bos), "<|begin_of_text|>");
  EXPECT_EQ(llama3.special.at(llama3.eos), "<|end_of_text|>");
  EXPECT_EQ(llama3.special.at(9), "<|eot_id|>");
  EXPECT_EQ(llama3.special.back(), "<|reserved_special_token_250|>");
  EXPECT_EQ(tiktoken_format(151643, "t").pattern, WordPattern::qwen2);
  EXPECT_USER_ERROR(parse_tiktoken(small_file(), "t.tiktoken"),
                    "t.tiktoken: which pattern cuts the text of this .tiktoken file is not known");
  EXPECT_USER_ERROR(parse_tiktoken("", "t.tiktoken"), "it has 0");
}

TEST(Tiktoken, RefusesLinesThatAreNone) {
  const auto load = [](const std::string& more) { parse_tiktoken(small_file() + more, "t.tiktoken", format()); };
  load("\r\n\n");
  for (const char* line :
       {"YWI=", "YWI= x", "YWI= -1", "YWI= 259x", "YWI 259", "Y=I= 259", "Y=== 259", "==== 259", " 259", "YW!= 259", "YWI=YWI= 259"}) {
    EXPECT_USER_ERROR(load(line), "t.tiktoken:260: not a line of a .tiktoken file");
  }
  EXPECT_USER_ERROR(load("YWJh 300"), "t.tiktoken:260: ranks must run 0, 1, 2, ...; found 300");
  EXPECT_USER_ERROR(load("YWI= 259"), "t.tiktoken: BPE vocabulary has the token \"ab\" twice");
}

TEST(Tiktoken, AnyDamageIsAUserError) {
  std::mt19937 random(4);
  const std::string whole = small_file();
  for (int round = 0; round < 300; ++round) {
    std::string text = whole;
    const std::size_t at = random() % text.size();
    if (random() % 2 == 0) text[at] = static_cast<char>(static_cast<std::uint8_t>(random()));
    else text.erase(at, 1 + random() % 9);
    try {
      const auto tokenizer = parse_tiktoken(text, "t", format());
      tokenizer->encode("abc ab");
    } catch (const UserError&) {
    }
  }
}

/// GPT-2's own vocabulary, which the reference data does not hold: REPRISE_GPT2_TIKTOKEN names the file.
TEST(Tiktoken, Gpt2OwnVocabulary) {
  REPRISE_NEEDS_REFERENCE("tokenizer/gpt2_real.expected.json");
  const char* path = std::getenv("REPRISE_GPT2_TIKTOKEN");
  if (path == nullptr) GTEST_SKIP() << "no vocabulary: set REPRISE_GPT2_TIKTOKEN to gpt2.tiktoken (see gpt2_real.expected.json)";
  const auto tokenizer = load_tokenizer(path);
  const Json expected = read_json(test::reference_directory() / "tokenizer/gpt2_real.expected.json");
  for (const Json& entry : expected.find("cases")->items()) {
    Ids ids;
    for (const Json& id : entry.find("ids")->items()) ids.push_back(static_cast<std::int32_t>(id.integer()));
    const std::string& text = entry.find("text")->string();
    EXPECT_EQ(tokenizer->encode(text), ids) << text;
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
}

}  // namespace
}  // namespace reprise
