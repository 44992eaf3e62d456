// SPDX-License-Identifier: Apache-2.0
// Ids and text against Hugging Face's tokenizers (reference data; tests/reference/tokenizer_variants.json, made with tokenizers
// 0.23.3) and tiktoken.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/file_write.h"
#include "io/json.h"
#include "support/expect_error.h"
#include "support/reference_directory.h"
#include "support/source_directory.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

Ids ids_of(const Json& list) {
  Ids ids;
  for (const Json& id : list.items()) ids.push_back(static_cast<std::int32_t>(id.integer()));
  return ids;
}

std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const std::int32_t id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

/// Ids, ids in the frame, and the text they decode to, at once and token by token.
void expect_case(const Tokenizer& tokenizer, const Json& entry, std::string_view framed_key) {
  const std::string& text = entry.find("text")->string();
  const Ids ids = ids_of(*entry.find("ids"));
  EXPECT_EQ(tokenizer.encode(text), ids) << text;
  const Json* framed = entry.find(framed_key);
  EXPECT_EQ(tokenizer.encode_framed(text), framed != nullptr ? ids_of(*framed) : ids) << text;
  EXPECT_EQ(tokenizer.decode(ids), entry.find("decoded")->string()) << text;
  EXPECT_EQ(streamed(tokenizer, ids), entry.find("decoded")->string()) << text;
}

/// White space that an added token took from the text around it; it stands nowhere else in a token.
std::string without_space_around(const std::string& token) {
  const std::size_t first = token.find_first_not_of(' ');
  return first == std::string::npos ? token : token.substr(first, token.find_last_not_of(' ') + 1 - first);
}

void expect_reference_cases(const std::string& name) {
  REPRISE_NEEDS_REFERENCE("tokenizer/" + name + ".tokenizer.json");
  const auto folder = test::reference_directory() / "tokenizer";
  const auto path = folder / (name + ".tokenizer.json");
  const auto tokenizer = parse_tokenizer(read_text_file(path), path.string());
  const Json expected = read_json(folder / (name + ".expected.json"));
  EXPECT_EQ(tokenizer->vocab_size(), expected.find("vocab_size")->integer());
  EXPECT_GE(expected.find("cases")->items().size(), 72u);
  for (const Json& entry : expected.find("cases")->items()) {
    expect_case(*tokenizer, entry, "with_special");
    std::vector<std::string> tokens;
    for (const std::int32_t id : ids_of(*entry.find("ids"))) tokens.emplace_back(tokenizer->token(id));
    std::vector<std::string> expected_tokens;
    for (const Json& token : entry.find("tokens")->items()) expected_tokens.push_back(without_space_around(token.string()));
    EXPECT_EQ(tokens, expected_tokens);
  }
  EXPECT_EQ(parse_json(tokenizer->to_json(), "written"), read_json(path));
}

TEST(ReferenceTokenizers, Gpt2Of512Tokens) { expect_reference_cases("gpt2_512"); }
TEST(ReferenceTokenizers, Gpt2Of2048Tokens) { expect_reference_cases("gpt2_2048"); }
TEST(ReferenceTokenizers, Gpt2WithAPrefixSpace) { expect_reference_cases("gpt2_prefix_512"); }
TEST(ReferenceTokenizers, Gpt2WithAddedTokens) { expect_reference_cases("gpt2_added_512"); }
TEST(ReferenceTokenizers, Llama3Of512Tokens) { expect_reference_cases("llama3_512"); }
TEST(ReferenceTokenizers, Llama3Of2048Tokens) { expect_reference_cases("llama3_2048"); }
TEST(ReferenceTokenizers, Qwen2Of512Tokens) { expect_reference_cases("qwen2_512"); }
TEST(ReferenceTokenizers, Qwen2Of2048Tokens) { expect_reference_cases("qwen2_2048"); }
TEST(ReferenceTokenizers, SentencePieceOf612Tokens) { expect_reference_cases("sentencepiece_612"); }
TEST(ReferenceTokenizers, SentencePieceOf2148Tokens) { expect_reference_cases("sentencepiece_2148"); }
TEST(ReferenceTokenizers, Metaspace) { expect_reference_cases("metaspace_612"); }

/// The reference tokenizers with components exchanged.
TEST(ReferenceTokenizers, Variants) {
  REPRISE_NEEDS_REFERENCE("tokenizer");
  const Json variants = read_json(test::source_directory() / "tests/reference/tokenizer_variants.json");
  EXPECT_EQ(variants.items().size(), 26u);
  for (const Json& variant : variants.items()) {
    SCOPED_TRACE(variant.find("name")->string());
    Json root = read_json(test::reference_directory() / "tokenizer" / (variant.find("base")->string() + ".tokenizer.json"));
    Json model = *root.find("model");
    for (const JsonMember& change : variant.find("change")->members()) {
      if (change.key.starts_with("model.")) model.set(change.key.substr(6), change.value);
      else root.set(change.key, change.value);
    }
    root.set("model", model);
    const auto tokenizer = parse_tokenizer(write_json(root), "t.json");
    for (const Json& entry : variant.find("cases")->items()) expect_case(*tokenizer, entry, "framed");
    EXPECT_EQ(parse_tokenizer(tokenizer->to_json(), "written")->to_json(), tokenizer->to_json());
  }
}

/// Text of pieces that the tokenizers treat apart.
std::string random_text(unsigned seed) {
  static const std::vector<std::string> pieces = {
      "the",          " model",     "  ",           "\n", "\r\n", "\t", "12345",  ".",      "'s", "\u00E9t\u00E9",
      "\u4F60\u597D", "\U0001F600", "\u0627\u0644", "x",  " <s",  "</", "\u2028", "\u00A0", "A",  "\u0915\u094D\u0937"};
  std::string text;
  for (int i = 0; i < 40; ++i) {
    seed = seed * 1664525u + 1013904223u;
    text += pieces[(seed >> 16) % pieces.size()];
  }
  return text;
}

TEST(ReferenceTokenizers, DecodeWhatTheyEncode) {
  REPRISE_NEEDS_REFERENCE("tokenizer");
  for (const std::string name :
       {"gpt2_512", "gpt2_2048", "llama3_512", "llama3_2048", "qwen2_2048", "sentencepiece_612", "sentencepiece_2148"}) {
    const auto tokenizer = load_tokenizer(test::reference_directory() / "tokenizer" / (name + ".tokenizer.json"));
    for (unsigned seed = 0; seed < 200; ++seed) {
      const std::string text = random_text(seed);
      const Ids ids = tokenizer->encode(text);
      EXPECT_EQ(tokenizer->decode(ids), text) << name;
      EXPECT_EQ(streamed(*tokenizer, ids), text) << name;
    }
  }
}

}  // namespace
}  // namespace reprise
