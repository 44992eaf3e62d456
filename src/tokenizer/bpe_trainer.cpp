// SPDX-License-Identifier: Apache-2.0
// Merges are applied to unique words; pair counts are kept up to date by the changes each merge makes around itself, and a
// heap whose stale entries are corrected when they surface gives the next pair.
#include "tokenizer/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"
#include "tokenizer/word_patterns.h"

namespace reprise {

namespace {

constexpr std::int64_t kSmallestCount = 2;  // a pair seen once teaches nothing

struct Word {
  std::size_t begin;  // in Corpus::symbols
  std::size_t length;
  std::int64_t count;
};

struct Pair {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words;  // that hold it or once did
};

struct Candidate {
  std::int64_t count;
  std::uint64_t pair;
  bool operator<(const Candidate& other) const { return count != other.count ? count < other.count : pair > other.pair; }
};

/// The unique words as token ids, and where every pair of neighbours stands.
class Corpus {
 public:
  void add_word(std::string_view bytes, std::int64_t count, const std::vector<std::int32_t>& byte_ids) {
    const auto index = static_cast<std::uint32_t>(words_.size());
    words_.push_back({symbols_.size(), bytes.size(), count});
    for (const char byte : bytes) symbols_.push_back(byte_ids[static_cast<std::uint8_t>(byte)]);
    for (std::size_t i = words_.back().begin; i + 1 < symbols_.size(); ++i) {
      change(pair_key(symbols_[i], symbols_[i + 1]), count, index);
    }
  }

  void fill_heap() {
    std::vector<Candidate> all;
    all.reserve(pairs_.size());
    for (const auto& [key, pair] : pairs_) all.push_back({pair.count, key});
    heap_ = std::priority_queue<Candidate>(std::less<Candidate>(), std::move(all));
  }

  /// Returns the most frequent pair and its count; a count of 0 when none is left.
  Candidate best() {
    while (!heap_.empty()) {
      const Candidate top = heap_.top();
      const std::int64_t count = pairs_[top.pair].count;
      if (count == top.count && count > 0) return top;
      heap_.pop();
      if (count > 0) heap_.push({count, top.pair});
    }
    return {0, 0};
  }

  void merge(std::uint64_t pair, std::int32_t result) {
    const auto left = static_cast<std::int32_t>(pair >> 32);
    const auto right = static_cast<std::int32_t>(pair & 0xFFFFFFFFu);
    const std::vector<std::uint32_t> places = std::move(pairs_[pair].words);
    grown_.clear();
    for (const std::uint32_t index : places) merge_in_word(index, left, right, result);
    pairs_.erase(pair);
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (const std::uint64_t key : grown_) {
      if (const auto found = pairs_.find(key); found != pairs_.end()) heap_.push({found->second.count, key});
    }
  }

 private:
  void change(std::uint64_t key, std::int64_t by, std::uint32_t word) {
    Pair& pair = pairs_[key];
    pair.count += by;
    if (by > 0 && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
  }

  void merge_in_word(std::uint32_t index, std::int32_t left, std::int32_t right, std::int32_t result) {
    Word& word = words_[index];
    std::int32_t* symbols = symbols_.data() + word.begin;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < word.length;) {
      if (i + 1 == word.length || symbols[i] != left || symbols[i + 1] != right) {
        symbols[kept++] = symbols[i++];
        continue;
      }
      if (kept > 0) {
        change(pair_key(symbols[kept - 1], left), -word.count, index);
        grow(pair_key(symbols[kept - 1], result), word.count, index);
      }
      if (i + 2 < word.length) {
        change(pair_key(right, symbols[i + 2]), -word.count, index);
        grow(pair_key(result, symbols[i + 2]), word.count, index);
      }
      symbols[kept++] = result;
      i += 2;
    }
    word.length = kept;
  }

  void grow(std::uint64_t key, std::int64_t by, std::uint32_t word) {
    change(key, by, word);
    grown_.push_back(key);
  }

  std::vector<Word> words_;
  std::vector<std::int32_t> symbols_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> heap_;
  std::vector<std::uint64_t> grown_;  // pairs that became more frequent in the merge under way
};

}  // namespace

void BpeTrainer::add_text(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = gpt2_word_end(text, begin);
    const std::string_view word = text.substr(begin, end - begin);
    const auto found = word_counts_.find(word);
    if (found != word_counts_.end()) {
      ++found->second;
    } else {
      word_counts_.emplace(word, 1);
    }
    begin = end;
  }
}

BpeVocabulary BpeTrainer::train(std::int64_t vocabulary_size, const std::vector<std::string>& special_tokens) const {
  BpeVocabulary vocabulary;
  for (const std::string& token : special_tokens) {
    vocabulary.tokens.push_back(token);
  }
  const auto smallest = static_cast<std::int64_t>(special_tokens.size() + 256);
  if (vocabulary_size < smallest) {
    throw UserError(fmt::format("a byte-level BPE vocabulary needs at least {} tokens, 256 bytes and {} special: use bpe:{} or "
                                "more; asked for {}",
                                smallest, special_tokens.size(), smallest, vocabulary_size));
  }
  std::vector<std::size_t> bytes(256);
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte] = byte;
  std::sort(bytes.begin(), bytes.end(),
            [](std::size_t a, std::size_t b) { return byte_alphabet()[a] < byte_alphabet()[b]; });
  std::vector<std::int32_t> byte_ids(256);
  for (const std::size_t byte : bytes) {
    byte_ids[byte] = static_cast<std::int32_t>(vocabulary.tokens.size());
    append_utf8(vocabulary.tokens.emplace_back(), byte_alphabet()[byte]);
  }

  std::unordered_map<std::string, std::int32_t> ids;
  for (const std::string& token : vocabulary.tokens) ids.emplace(token, static_cast<std::int32_t>(ids.size()));
  Corpus corpus;
  for (const auto& [word, count] : word_counts_) corpus.add_word(word, count, byte_ids);
  corpus.fill_heap();
  while (static_cast<std::int64_t>(vocabulary.tokens.size()) < vocabulary_size) {
    const Candidate best = corpus.best();
    if (best.count < kSmallestCount) {
      throw UserError(fmt::format("the text is too small to learn {} BPE tokens: use bpe:{} or fewer, or more text; {} tokens "
                                  "learned from {} distinct words",
                                  vocabulary_size, vocabulary.tokens.size(), vocabulary.tokens.size(), word_counts_.size()));
    }
    const auto left = static_cast<std::int32_t>(best.pair >> 32);
    const auto right = static_cast<std::int32_t>(best.pair & 0xFFFFFFFFu);
    const std::string merged =
        vocabulary.tokens[static_cast<std::size_t>(left)] + vocabulary.tokens[static_cast<std::size_t>(right)];
    const auto [id, inserted] = ids.emplace(merged, static_cast<std::int32_t>(vocabulary.tokens.size()));
    if (inserted) vocabulary.tokens.push_back(merged);
    vocabulary.merges.emplace_back(left, right);
    corpus.merge(best.pair, id->second);
  }
  return vocabulary;
}

}  // namespace reprise
