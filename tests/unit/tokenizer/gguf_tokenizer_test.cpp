// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/temporary_directory.h"
#include "tokenizer/byte_alphabet.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;
using test::GgufBuilder;

/// What a file says of its tokenizer: 256 bytes, "ab", "12", "Ġab", a control token and one that users write.
struct Tables {
  std::string model = "gpt2";
  std::string pre = "smollm";
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  std::vector<std::string> merges = {"a b", "1 2", "Ġ ab"};
  std::function<void(GgufBuilder&)> more = [](GgufBuilder&) {};

  Tables() {
    for (int byte = 0; byte < 256; ++byte) {
      tokens.push_back(to_byte_alphabet(std::string(1, static_cast<char>(static_cast<std::uint8_t>(byte)))));
    }
    tokens.insert(tokens.end(), {"ab", "12", "Ġab", "<|im_end|>", "<tag>"});
    types.assign(tokens.size(), 1);
    types[259] = 3;
    types[260] = 4;
  }

  std::unique_ptr<Tokenizer> load() const {
    const test::TemporaryDirectory folder;
    GgufBuilder builder;
    builder.value("tokenizer.ggml.model", model.c_str()).value("tokenizer.ggml.pre", pre.c_str());
    builder.value("tokenizer.ggml.tokens", tokens).value("tokenizer.ggml.token_type", types).value("tokenizer.ggml.merges", merges);
    builder.value("tokenizer.ggml.eos_token_id", std::uint32_t{259}).value("tokenizer.chat_template", "{{ x }}");
    more(builder);
    test::put_file(folder / "m.gguf", builder.build());
    return gguf_tokenizer(GgufFile::open(folder / "m.gguf"));
  }
};

TEST(GgufTokenizer, ReadsTokensMergesAndTypes) {
  const auto tokenizer = Tables().load();
  EXPECT_EQ(tokenizer->vocab_size(), 261);
  EXPECT_EQ(tokenizer->end_of_text(), 259);
  EXPECT_EQ(tokenizer->encode("ab ab<|im_end|>12<tag>"), (Ids{256, 258, 259, '1', '2', 260}));  // digits stand alone
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab ab<|im_end|>12<tag>")), "ab ab<|im_end|>12<tag>");
  EXPECT_EQ(tokenizer->encode_framed("ab"), (Ids{256}));
}

TEST(GgufTokenizer, CutsWordsAsTheFileSays) {
  Tables tables;
  for (const char* pre : {"gpt-2", "gpt2"}) {
    tables.pre = pre;
    EXPECT_EQ(tables.load()->encode("1212"), (Ids{257, 257})) << pre;
  }
  tables.pre = "qwen2";
  EXPECT_EQ(tables.load()->encode("12"), (Ids{'1', '2'}));
  tables.more = [](GgufBuilder& builder) { builder.value("tokenizer.ggml.bos_token_id", std::uint32_t{259}); };
  for (const char* pre : {"llama-bpe", "llama3", "llama-v3"}) {
    tables.pre = pre;
    EXPECT_EQ(tables.load()->encode("1212"), (Ids{257, '1', '2'})) << pre;
    EXPECT_EQ(tables.load()->encode_framed("12"), (Ids{259, 257})) << pre;
  }
  tables.more = [](GgufBuilder& builder) {
    builder.value("tokenizer.ggml.bos_token_id", std::uint32_t{259})
        .value("tokenizer.ggml.add_bos_token", false)
        .value("tokenizer.ggml.add_eos_token", true);
  };
  EXPECT_EQ(tables.load()->encode_framed("12"), (Ids{257, 259}));
}

TEST(GgufTokenizer, RefusesWhatItDoesNotKnow) {
  Tables tables;
  tables.model = "llama";
  EXPECT_USER_ERROR(tables.load(), "m.gguf: tokenizer.ggml.model: \"llama\" is not supported yet; only gpt2 (byte-level BPE) is");
  tables = Tables();
  tables.pre = "default";
  EXPECT_USER_ERROR(tables.load(), "tokenizer.ggml.pre: \"default\" is not supported yet; one of: gpt-2, smollm, llama-bpe, qwen2");
  tables = Tables();
  tables.more = [](GgufBuilder& builder) { builder.value("tokenizer.ggml.add_prefix", true); };
  EXPECT_USER_ERROR(tables.load(), "key \"tokenizer.ggml.add_prefix\" is not known and may change the tokens");
  tables.more = [](GgufBuilder& builder) { builder.value("tokenizer.ggml.add_space_prefix", true); };
  EXPECT_USER_ERROR(tables.load(), "tokenizer.ggml.add_space_prefix: true is not supported yet");
}

TEST(GgufTokenizer, RefusesTablesThatDoNotFit) {
  Tables tables;
  tables.types.pop_back();
  EXPECT_USER_ERROR(tables.load(), "tokenizer.ggml.token_type: has 260 entries, but there are 261 tokens");
  tables = Tables();
  tables.types[3] = 7;
  EXPECT_USER_ERROR(tables.load(), "is no type of token: 7");
  tables = Tables();
  tables.merges[1] = "1 22";
  EXPECT_USER_ERROR(tables.load(), "m.gguf: merge 1 is not two tokens of the vocabulary");
  tables = Tables();
  tables.more = [](GgufBuilder& builder) { builder.value("tokenizer.ggml.bos_token_id", std::uint32_t{261}); };
  EXPECT_USER_ERROR(tables.load(), "tokenizer.ggml.bos_token_id: is no id of 261 tokens: 261");
  const test::TemporaryDirectory folder;
  test::put_file(folder / "m.gguf", GgufBuilder().build());
  EXPECT_USER_ERROR(gguf_tokenizer(GgufFile::open(folder / "m.gguf")), "m.gguf: key \"tokenizer.ggml.model\" is missing");
}

}  // namespace
}  // namespace reprise
