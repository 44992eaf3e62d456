// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "io/file_write.h"
#include "io/json.h"
#include "support/reference_directory.h"
#include "support/expect_error.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/word_patterns.h"

namespace reprise {
namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

Merges merges_of(const BpeVocabulary& vocabulary) {
  Merges merges;
  for (const auto& [left, right] : vocabulary.merges) {
    merges.emplace_back(vocabulary.tokens[static_cast<std::size_t>(left)], vocabulary.tokens[static_cast<std::size_t>(right)]);
  }
  return merges;
}

/// The definition, literally: count all pairs anew for each merge.
BpeVocabulary train_by_definition(const std::vector<std::string>& texts, std::size_t size) {
  BpeVocabulary vocabulary = BpeTrainer().train(257, {"<|endoftext|>"});
  std::map<std::string, std::int32_t> ids;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) ids[vocabulary.tokens[id]] = static_cast<std::int32_t>(id);
  std::vector<std::vector<std::int32_t>> words;
  for (const std::string& text : texts) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = gpt2_word_end(text, begin);
      words.emplace_back();
      for (; begin < end; ++begin) words.back().push_back(ids.at(to_byte_alphabet(text.substr(begin, 1))));
    }
  }
  while (vocabulary.tokens.size() < size) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> counts;
    for (const auto& word : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    }
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });  // the first of equals
    const auto [left, right] = best->first;
    const std::string merged =
        vocabulary.tokens[static_cast<std::size_t>(left)] + vocabulary.tokens[static_cast<std::size_t>(right)];
    if (ids.emplace(merged, static_cast<std::int32_t>(vocabulary.tokens.size())).second) vocabulary.tokens.push_back(merged);
    vocabulary.merges.emplace_back(left, right);
    for (auto& word : words) {
      std::vector<std::int32_t> joined;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const bool match = i + 1 < word.size() && word[i] == left && word[i + 1] == right;
        joined.push_back(match ? ids.at(merged) : word[i]);
        if (match) ++i;
      }
      word = joined;
    }
  }
  return vocabulary;
}

TEST(BpeTrainer, MergesTheMostFrequentPairFirst) {
  BpeTrainer trainer;
  trainer.add_text("low low low lower lowest newer newest newest");
  const BpeVocabulary vocabulary = trainer.train(257 + 3, {"<|endoftext|>"});
  // "lo", "ow" and "we" stand five times each: l comes before o, and w before the new token lo.
  EXPECT_EQ(merges_of(vocabulary), (Merges{{"l", "o"}, {"w", "e"}, {"\u0120", "lo"}}));
  EXPECT_EQ(vocabulary.tokens[0], "<|endoftext|>");
  EXPECT_EQ(vocabulary.tokens[1], "!");  // bytes in the order of the byte alphabet
  EXPECT_EQ(vocabulary.tokens[256], "\u0143");
  EXPECT_EQ(vocabulary.tokens.back(), "\u0120lo");
}

TEST(BpeTrainer, AgreesWithItsDefinitionOnRandomText) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> texts;
    const std::size_t letters = 2 + random() % 4;
    for (int t = 0; t < 4; ++t) {
      std::string text;
      for (int i = 0; i < 300; ++i) text.push_back(random() % 7 == 0 ? ' ' : static_cast<char>('a' + random() % letters));
      texts.push_back(text);
    }
    BpeTrainer trainer;
    for (const std::string& text : texts) trainer.add_text(text);
    EXPECT_EQ(trainer.train(285, {"<|endoftext|>"}), train_by_definition(texts, 285)) << "round " << round;
  }
}

TEST(BpeTrainer, NoWordGoesAcrossTexts) {
  BpeTrainer trainer;
  trainer.add_text("ab");
  trainer.add_text("ab");
  EXPECT_EQ(merges_of(trainer.train(257, {})), (Merges{{"a", "b"}}));
  EXPECT_USER_ERROR(trainer.train(258, {}), "too small to learn 258 BPE tokens: use bpe:257 or fewer");
}

TEST(BpeTrainer, RefusesFewerTokensThanBytes) {
  EXPECT_USER_ERROR(BpeTrainer().train(200, {"<|endoftext|>"}), "needs at least 257 tokens, 256 bytes and 1 special");
}

/// The vocabulary and merges of the reference tokenizers, learned again from their training text.
void expect_same_as_reference(const std::string& name, std::int64_t size) {
  REPRISE_NEEDS_REFERENCE("tokenizer/training_text.json");
  const auto folder = test::reference_directory() / "tokenizer";
  BpeTrainer trainer;
  const Json training = read_json(folder / "training_text.json");
  for (const Json& text : training.find("text")->items()) trainer.add_text(text.string());
  const auto path = folder / (name + ".tokenizer.json");
  const auto reference = parse_tokenizer(read_text_file(path), path.string());
  const auto& expected = dynamic_cast<const BpeTokenizer&>(*reference).vocabulary();
  const BpeVocabulary learned = trainer.train(size, {"<|endoftext|>", "<|pad|>"});
  EXPECT_EQ(learned.tokens, expected.tokens);
  EXPECT_EQ(merges_of(learned), merges_of(expected));
  EXPECT_EQ(learned, expected);
}

TEST(BpeTrainer, LearnsTheReferenceOf512Tokens) { expect_same_as_reference("gpt2_512", 512); }
TEST(BpeTrainer, LearnsTheReferenceOf2048Tokens) { expect_same_as_reference("gpt2_2048", 2048); }

}  // namespace
}  // namespace reprise
