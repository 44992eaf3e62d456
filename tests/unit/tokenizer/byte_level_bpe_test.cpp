// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_level_bpe.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/byte_alphabet.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

/// Bytes, "ab", and two special tokens.
ByteLevelBpe tables() {
  ByteLevelBpe bpe;
  bpe.vocabulary.tokens = {"<s>", "</s>"};
  for (int byte = 0; byte < 256; ++byte) {
    bpe.vocabulary.tokens.push_back(to_byte_alphabet(std::string(1, static_cast<char>(static_cast<std::uint8_t>(byte)))));
  }
  bpe.vocabulary.tokens.emplace_back("ab");
  bpe.vocabulary.tokens.emplace_back("12");
  const std::vector<std::string> merges = {"a b", "1 2"};
  bpe.vocabulary.merges = parse_merges(merges, bpe.vocabulary.tokens, "t");
  bpe.special = {0, 1};
  bpe.roles.bos = 0;
  return bpe;
}

std::int32_t id_of(char byte) { return 2 + static_cast<std::uint8_t>(byte); }

TEST(ByteLevelBpe, CutsByItsPattern) {
  ByteLevelBpe bpe = tables();
  EXPECT_EQ(make_byte_level_bpe(bpe, "t")->encode("ab12</s>"), (Ids{258, 259, 1}));
  bpe.pattern = WordPattern::digits;
  EXPECT_EQ(make_byte_level_bpe(bpe, "t")->encode("ab12"), (Ids{258, id_of('1'), id_of('2')}));
  bpe.pattern = WordPattern::llama3;
  EXPECT_EQ(make_byte_level_bpe(bpe, "t")->encode("3412"), (Ids{id_of('3'), id_of('4'), id_of('1'), id_of('2')}));
  EXPECT_EQ(make_byte_level_bpe(bpe, "t")->encode("312"), (Ids{id_of('3'), 259}));
  bpe.pattern = WordPattern::qwen2;
  EXPECT_EQ(make_byte_level_bpe(bpe, "t")->encode("312"), (Ids{id_of('3'), id_of('1'), id_of('2')}));
}

TEST(ByteLevelBpe, AddsWhatItIsAskedTo) {
  ByteLevelBpe bpe = tables();
  auto tokenizer = make_byte_level_bpe(bpe, "t");
  EXPECT_EQ(tokenizer->end_of_text(), 1);  // by its name
  EXPECT_EQ(tokenizer->encode_framed("ab"), (Ids{258}));
  bpe.add_bos = true;
  tokenizer = make_byte_level_bpe(bpe, "t");
  EXPECT_EQ(tokenizer->encode_framed("ab"), (Ids{0, 258}));
  EXPECT_EQ(tokenizer->encode("ab"), (Ids{258}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode_framed("ab")), "<s>ab");
  bpe.roles.eos = 1;
  bpe.add_eos = true;
  tokenizer = make_byte_level_bpe(bpe, "t");
  EXPECT_EQ(tokenizer->encode_framed("ab"), (Ids{0, 258, 1}));
  const auto again = parse_tokenizer(tokenizer->to_json(), "again");
  EXPECT_EQ(again->encode_framed("ab"), (Ids{0, 258, 1}));
  EXPECT_EQ(again->to_json(), tokenizer->to_json());
}

TEST(ByteLevelBpe, RefusesWhatIsNotThere) {
  const auto make = [](const auto& change) {
    ByteLevelBpe bpe = tables();
    change(bpe);
    make_byte_level_bpe(std::move(bpe), "t.gguf");
  };
  EXPECT_USER_ERROR(make([](ByteLevelBpe& bpe) { bpe.special = {300}; }), "t.gguf: no token of the vocabulary has the id 300");
  EXPECT_USER_ERROR(make([](ByteLevelBpe& bpe) { bpe.roles.pad = 300; }), "t.gguf: a special token names a token that is not there");
  EXPECT_USER_ERROR(make([](ByteLevelBpe& bpe) {
                      bpe.roles.bos.reset();
                      bpe.add_bos = true;
                    }),
                    "t.gguf: bos is to be added to every text, but no token is named as bos");
  const std::vector<std::string> tokens = {"a", "b"};
  for (const char* merge : {"ab", "a c", "a b c", ""}) {
    const std::vector<std::string> merges = {"a b", merge};
    EXPECT_USER_ERROR(parse_merges(merges, tokens, "t.gguf"), "t.gguf: merge 1 is not two tokens of the vocabulary with a space between");
  }
}

}  // namespace
}  // namespace reprise
