// SPDX-License-Identifier: Apache-2.0
// What parse_tokenizer refuses: each test changes one component of a good file.
#include "tokenizer/tokenizer_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/json.h"
#include "support/expect_error.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace reprise {
namespace {

Json good(std::string_view spec) {
  const std::string_view text = "ab ab";
  return parse_json(learn_tokenizer(spec, std::span(&text, 1))->to_json(), "good");
}

/// Loads the bpe file with `key` of the outer object replaced.
void load_with(std::string_view key, const Json& value) {
  Json root = good("bpe:258");
  root.set(key, value);
  parse_tokenizer(write_json(root), "t.json");
}

/// Loads the file of `spec` with `key` of its model replaced.
void load_with_model(std::string_view spec, std::string_view key, const Json& value) {
  Json root = good(spec);
  Json model = *root.find("model");
  model.set(key, value);
  root.set("model", model);
  parse_tokenizer(write_json(root), "t.json");
}

Json split(const Json& pattern, std::string_view behavior) {
  return Json::object({{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}});
}

TEST(TokenizerJson, RefusesComponentsByName) {
  EXPECT_USER_ERROR(load_with("truncation", Json::object({{"max_length", 8}})), "t.json: truncation: is not supported");
  EXPECT_USER_ERROR(load_with("padding", Json::object()), "t.json: padding: is not supported");
  EXPECT_USER_ERROR(load_with("extra", 1), "t.json: key \"extra\" is not known");
  EXPECT_USER_ERROR(load_with("model", Json::object({{"type", "Unigram"}})),
                    "t.json: model: type \"Unigram\" is not supported; those that are: BPE");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "dropout", 0.1), "t.json: model.dropout: is not supported");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "byte_fallback", true), "byte_fallback behind a ByteLevel pre_tokenizer is not supported");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "end_of_word_suffix", "</w>"), "model.end_of_word_suffix: is not supported");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "extra", 1), "t.json: model: key \"extra\" is not known");
  load_with("post_processor", Json::object({{"type", "ByteLevel"}}));  // GPT-2's own file has it; it changes no id
  load_with_model("bpe:258", "dropout", 0.0);
}

/// The form of GPT-2's own file.
TEST(TokenizerJson, OldFilesNeedNoTypeOfModel) {
  Json root = good("bpe:258");
  Json model = *root.find("model");
  model.set("unk_token", "");
  model.set("continuing_subword_prefix", "");
  auto& members = model.members();
  members.erase(std::find_if(members.begin(), members.end(), [](const JsonMember& member) { return member.key == "type"; }));
  root.set("model", model);
  EXPECT_EQ(parse_tokenizer(write_json(root), "t.json")->to_json(), parse_tokenizer(write_json(good("bpe:258")), "t.json")->to_json());
  members.erase(std::find_if(members.begin(), members.end(), [](const JsonMember& member) { return member.key == "merges"; }));
  root.set("model", model);
  EXPECT_USER_ERROR(parse_tokenizer(write_json(root), "t.json"), "t.json: model: key \"type\" is missing");
}

TEST(TokenizerJson, RefusesNormalizersByName) {
  const auto load = [](const Json& component) { load_with("normalizer", component); };
  EXPECT_USER_ERROR(load(Json::object({{"type", "NFKC"}})),
                    "t.json: normalizer: type \"NFKC\" is not supported; those that are: NFC, Prepend, Replace");
  EXPECT_USER_ERROR(
      load(Json::object(
          {{"type", "Sequence"}, {"normalizers", Json::array({Json::object({{"type", "NFC"}}), Json::object({{"type", "Strip"}})})}})),
      "t.json: normalizer: normalizers[1]: type \"Strip\" is not supported");
  EXPECT_USER_ERROR(load(Json::object({{"type", "NFC"}, {"form", "D"}})), "t.json: normalizer: key \"form\" is not known");
  EXPECT_USER_ERROR(load(Json::object({{"type", "Replace"}, {"pattern", Json::object({{"Regex", " +"}})}, {"content", "_"}})),
                    "t.json: normalizer: pattern: key \"Regex\" is not known");
  EXPECT_USER_ERROR(load(Json::object({{"type", "Replace"}, {"pattern", Json::object({{"String", ""}})}, {"content", "_"}})),
                    "t.json: normalizer: pattern.String: must not be empty");
  EXPECT_USER_ERROR(load(Json::object()), "t.json: normalizer: key \"type\" is missing");
}

TEST(TokenizerJson, RefusesPreTokenizersByName) {
  const auto load = [](const Json& component) { load_with("pre_tokenizer", component); };
  const auto sequence = [](const Json& first, const Json& second) {
    return Json::object({{"type", "Sequence"}, {"pretokenizers", Json::array({first, second})}});
  };
  const Json byte_level = Json::object({{"type", "ByteLevel"}});
  EXPECT_USER_ERROR(load(Json::object({{"type", "Whitespace"}})), "t.json: pre_tokenizer: type \"Whitespace\" is not supported");
  EXPECT_USER_ERROR(load(sequence(byte_level, byte_level)),
                    "t.json: pre_tokenizer: pretokenizers[1]: type \"ByteLevel\" behind a ByteLevel is not supported");
  EXPECT_USER_ERROR(load(split(Json::object({{"Regex", "(a"}}), "Isolated")),
                    "t.json: pre_tokenizer: pattern.Regex: the regular expression is not understood: a ( without a )");
  EXPECT_USER_ERROR(load(split(Json::object({{"String", "a"}}), "Merged")), "t.json: pre_tokenizer: behavior: \"Merged\" is not known");
  EXPECT_USER_ERROR(load(split(Json::object({{"String", ""}}), "Isolated")), "pattern.String: must not be empty");
  EXPECT_USER_ERROR(load(Json::object({{"type", "Metaspace"}, {"replacement", "__"}})),
                    "t.json: pre_tokenizer: replacement: must be one character, not \"__\"");
  EXPECT_USER_ERROR(load(Json::object({{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}})),
                    "t.json: pre_tokenizer: prepend_scheme: \"last\" is not known");
  EXPECT_USER_ERROR(load(Json::object({{"type", "Digits"}, {"groups", 3}})), "key \"groups\" is not known");
}

TEST(TokenizerJson, RefusesPostProcessorsAndDecodersByName) {
  EXPECT_USER_ERROR(load_with("post_processor", Json::object()), "t.json: post_processor: key \"type\" is missing");
  EXPECT_USER_ERROR(load_with("post_processor", Json::object({{"type", "RobertaProcessing"}})),
                    "t.json: post_processor: type \"RobertaProcessing\" is not supported");
  const Json a = Json::object({{"Sequence", Json::object({{"id", "A"}, {"type_id", 0}})}});
  const Json b = Json::object({{"Sequence", Json::object({{"id", "B"}, {"type_id", 0}})}});
  const Json bos = Json::object({{"SpecialToken", Json::object({{"id", "<s>"}, {"type_id", 0}})}});
  const auto load = [](const Json& single, std::int64_t id) {
    const Json tokens =
        Json::object({{"<s>", Json::object({{"id", "<s>"}, {"ids", Json::array({id})}, {"tokens", Json::array({"<s>"})}})}});
    load_with("post_processor",
              Json::object({{"type", "TemplateProcessing"}, {"single", single}, {"pair", Json::array()}, {"special_tokens", tokens}}));
  };
  load(Json::array({bos, a}), 0);
  EXPECT_USER_ERROR(load(Json::array({bos, a}), 300),
                    "t.json: post_processor names a token that is not there; take the tokenizer's own files; id 300");
  EXPECT_USER_ERROR(load(Json::array({bos, a}), -1), "is no token id: -1");
  EXPECT_USER_ERROR(load(Json::array({bos}), 0), "t.json: post_processor: single: a template without sequence A is not supported");
  EXPECT_USER_ERROR(load(Json::array({a, a}), 0), "a template other than tokens around one sequence A is not supported");
  EXPECT_USER_ERROR(load(Json::array({b}), 0), "a template other than tokens around one sequence A is not supported");
  EXPECT_USER_ERROR(load(Json::array({Json::object({{"SpecialToken", Json::object({{"id", "<x>"}})}})}), 0),
                    "\"<x>\" is not in special_tokens");

  EXPECT_USER_ERROR(load_with("decoder", Json::object({{"type", "WordPiece"}})), "t.json: decoder: type \"WordPiece\" is not supported");
  EXPECT_USER_ERROR(load_with("decoder", Json::object({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 1}})),
                    "Strip at the end is not supported");
  EXPECT_USER_ERROR(
      load_with("decoder", Json::object({{"type", "Replace"}, {"pattern", Json::object({{"String", ""}})}, {"content", " "}})),
      "must not be empty");
  const auto sequence = [](const char* first, const char* second) {
    return Json::object(
        {{"type", "Sequence"}, {"decoders", Json::array({Json::object({{"type", first}}), Json::object({{"type", second}})})}});
  };
  EXPECT_USER_ERROR(load_with("decoder", sequence("Fuse", "ByteFallback")),
                    "t.json: decoder: decoders[1]: type \"ByteFallback\" behind a Fuse or ByteLevel is not supported");
  EXPECT_USER_ERROR(load_with("decoder", sequence("ByteFallback", "ByteFallback")), "a second ByteFallback is not supported");
}

TEST(TokenizerJson, RefusesTablesThatAreNotWhole) {
  EXPECT_USER_ERROR(parse_tokenizer("{", "t.json"), "t.json");
  EXPECT_USER_ERROR(parse_tokenizer("{}", "t.json"), "t.json: key \"model\" is missing");
  EXPECT_USER_ERROR(load_with("added_tokens", 3), "t.json: added_tokens: must be an array");
  EXPECT_USER_ERROR(load_with("added_tokens", Json::array({Json::object()})), "t.json: added_tokens[0]: key \"id\" is missing");
  EXPECT_USER_ERROR(load_with("added_tokens", Json::array({Json::object({{"id", 0}, {"content", ""}})})),
                    "added_tokens[0].content: must not be empty");
  EXPECT_USER_ERROR(load_with("added_tokens", Json::array({Json::object({{"id", -1}, {"content", "a"}})})),
                    "added_tokens[0].id: is no token id: -1");
  EXPECT_USER_ERROR(load_with("added_tokens", Json::array({Json::object({{"id", 0}, {"content", "<|endoftext|>"}, {"left", 1}})})),
                    "key \"left\" is not known");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "vocab", 3), "t.json: model.vocab: must be an object");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", nullptr), "t.json: model: key \"merges\" is missing");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", Json::array({"a"})),
                    "t.json: model.merges[0]: must be [\"left\", \"right\"] or \"left right\"");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", Json::array({"a abc"})),
                    "t.json: model.merges[0]: names a token that is not in \"vocab\"");
  EXPECT_USER_ERROR(load_with_model("bpe:258", "merges", Json::array({"a a"})),
                    "t.json: BPE vocabulary lacks the token \"aa\" that merge 0 makes");
  load_with_model("bpe:258", "merges", Json::array({"a b"}));  // the older way to write merges
}

void load_with_token(std::string_view token, const Json& id) {
  Json root = good("bpe:258");
  Json vocab = *root.find("model")->find("vocab");
  vocab.set(token, id);
  Json model = *root.find("model");
  model.set("vocab", vocab);
  root.set("model", model);
  parse_tokenizer(write_json(root), "t.json");
}

TEST(TokenizerJson, RefusesIdsThatDoNotFit) {
  EXPECT_USER_ERROR(load_with_token("new", 5000), "t.json: model.vocab: the id of \"new\" is out of proportion to 259 tokens: 5000");
  EXPECT_USER_ERROR(load_with_token("new", 257), "two tokens have the same id: \"ab\" and \"new\", 257");
  EXPECT_USER_ERROR(load_with_token("new", "x"), "the id of \"new\" must be an integer");
  EXPECT_USER_ERROR(load_with_token("<|endoftext|>", 258), "added token \"<|endoftext|>\" has ids 0 and 258");
  EXPECT_USER_ERROR(load_with_token("\u0120ab", 5'000'000'000), "is out of proportion to 259 tokens: 5000000000");
  load_with_token("new", 258);
  load_with_token("n w", 300);  // a gap, and a token that no text meets
}

TEST(TokenizerJson, RefusesCharacterTablesOutOfOrder) {
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object()), "t.json: model.vocab: must not be empty");
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object({{"ab", 0}})), "each token must be one character; \"ab\" is not");
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object({{"b", 0}, {"a", 1}})), "by ascending code point; at \"a\"");
  EXPECT_USER_ERROR(load_with_model("char", "vocab", Json::object({{"a", 0}, {"b", 2}})), "must list ids 0, 1, 2");
  const Json added = Json::array({Json::object({{"id", 0}, {"content", "a"}})});
  Json root = good("char");
  root.set("added_tokens", added);
  EXPECT_USER_ERROR(parse_tokenizer(write_json(root), "t.json"), "t.json: added_tokens: is not supported with a model reprise_char");
  root = good("char");
  root.set("decoder", Json::object({{"type", "ByteLevel"}}));
  EXPECT_USER_ERROR(parse_tokenizer(write_json(root), "t.json"), "t.json: decoder: is not supported with a model reprise_char");
}

/// Files that hold every component between them, with few tokens so that damage finds the components.
std::vector<Json> every_component() {
  const auto sequence = [](const char* key, Json::Array items) {
    return Json::object({{"type", "Sequence"}, {key, Json::array(std::move(items))}});
  };
  const Json replace = Json::object({{"type", "Replace"}, {"pattern", Json::object({{"String", " "}})}, {"content", "_"}});
  const Json back = Json::object({{"type", "Replace"}, {"pattern", Json::object({{"String", "_"}})}, {"content", " "}});
  const Json prepend = Json::object({{"type", "Prepend"}, {"prepend", "_"}});
  const Json metaspace = Json::object({{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}, {"split", true}});
  const Json byte_level = Json::object({{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", true}});
  const Json strip = Json::object({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  const Json added = Json::object(
      {{"id", 7}, {"content", "x"}, {"single_word", true}, {"lstrip", true}, {"rstrip", true}, {"normalized", true}, {"special", false}});
  const Json frame = Json::object({{"type", "TemplateProcessing"},
                                   {"single", Json::array({Json::object({{"SpecialToken", Json::object({{"id", "x"}})}}),
                                                           Json::object({{"Sequence", Json::object({{"id", "A"}})}})})},
                                   {"special_tokens", Json::object({{"x", Json::object({{"id", "x"}, {"ids", Json::array({7})}})}})}});
  const Json model = Json::object({{"type", "BPE"}, {"unk_token", "?"}, {"fuse_unk", true}, {"byte_fallback", true},
                                   {"ignore_merges", true},
                                   {"vocab", Json::object({{"?", 0}, {"a", 1}, {"b", 2}, {"ab", 3}, {"_", 4}, {"_ab", 5}, {"<0x0A>", 6}})},
                                   {"merges", Json::array({"a b", Json::array({"_", "ab"})})}});
  const auto file = [&](Json normalizer, Json pre_tokenizer, Json decoder) {
    return Json::object({{"added_tokens", Json::array({added})}, {"normalizer", std::move(normalizer)},
                         {"pre_tokenizer", std::move(pre_tokenizer)}, {"post_processor", frame}, {"decoder", std::move(decoder)},
                         {"model", model}});
  };
  Json bytes = file(Json::object({{"type", "NFC"}}),
                    sequence("pretokenizers", {Json::object({{"type", "Digits"}, {"individual_digits", true}}),
                                               split(Json::object({{"Regex", "(?i:'s)|\\p{L}+|[^\\s]{1,3}?"}}), "MergedWithNext"),
                                               Json::object({{"type", "Punctuation"}, {"behavior", "Contiguous"}}), byte_level}),
                    byte_level);
  Json byte_model = model;
  byte_model.set("byte_fallback", false);
  bytes.set("model", byte_model);
  return {file(sequence("normalizers", {prepend, replace}), nullptr,
               sequence("decoders", {back, Json::object({{"type", "ByteFallback"}}), Json::object({{"type", "Fuse"}}), strip})),
          file(nullptr, metaspace, metaspace), file(replace, split(Json::object({{"String", "_"}}), "MergedWithPrevious"), nullptr), bytes};
}

/// Good files with bytes changed, cut and doubled: each is read, or refused with a UserError, and never more.
TEST(TokenizerJson, AnyDamageIsAUserError) {
  std::mt19937 random(17);
  std::vector<std::string> corpus = {write_json(good("char")), write_json(good("bpe:258"))};
  for (const Json& component : every_component()) corpus.push_back(write_json(component));
  for (const std::string& whole : corpus) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size());
    for (int round = 0; round < 150; ++round) {
      std::string text = whole;
      for (unsigned change = 0; change <= random() % 3; ++change) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
          case 0: text[at] = static_cast<char>(static_cast<std::uint8_t>(random())); break;
          case 1: text.erase(at, 1 + random() % 20); break;
          case 2: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
          default: text[at] = "0123456789\"{}[],:-"[random() % 18]; break;
        }
      }
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
  }
}

}  // namespace
}  // namespace reprise
