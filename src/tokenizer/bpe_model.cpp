// SPDX-License-Identifier: Apache-2.0
// Merging: the word is a linked list of symbols, the possible merges a heap by (rank, position).
#include "tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <queue>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"

namespace reprise {

BpeModel::BpeModel(BpeVocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  const auto& tokens = vocabulary_.tokens;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const auto [entry, inserted] = ids_.emplace(tokens[id], static_cast<std::int32_t>(id));
    if (!inserted) {
      throw UserError(fmt::format("BPE vocabulary has the token \"{}\" twice: remove one; ids {} and {}",
                                  to_byte_alphabet(tokens[id]), entry->second, id));
    }
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char as_char = static_cast<char>(static_cast<std::uint8_t>(byte));
    const auto id = find(std::string_view(&as_char, 1));
    if (!id) {
      throw UserError(fmt::format("BPE vocabulary lacks a token for byte 0x{:02X} (written \"{}\"): a byte-level vocabulary "
                                  "needs all 256",
                                  byte, to_byte_alphabet(std::string_view(&as_char, 1))));
    }
    byte_ids_[byte] = *id;
  }
  for (std::size_t rank = 0; rank < vocabulary_.merges.size(); ++rank) {
    const auto [left, right] = vocabulary_.merges[rank];
    const std::string merged = tokens.at(static_cast<std::size_t>(left)) + tokens.at(static_cast<std::size_t>(right));
    const auto id = find(merged);
    if (!id) {
      throw UserError(fmt::format("BPE vocabulary lacks the token \"{}\" that merge {} makes: add it or remove the merge",
                                  to_byte_alphabet(merged), rank));
    }
    merges_.emplace(pair_key(left, right), Merge{static_cast<std::int32_t>(rank), *id});
  }
}

std::optional<std::int32_t> BpeModel::find(std::string_view bytes) const {
  const auto found = ids_.find(bytes);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

void BpeModel::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  struct Symbol {
    std::int32_t id;  // -1: swallowed by the symbol to its left
    std::ptrdiff_t previous;
    std::ptrdiff_t next;
  };
  struct Candidate {
    std::int32_t rank;
    std::ptrdiff_t left;
    std::int32_t result;
    std::uint64_t pair;  // the ids when it was found: stale when either symbol has changed since
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  const auto length = static_cast<std::ptrdiff_t>(word.size());
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (std::ptrdiff_t i = 0; i < length; ++i) {
    const auto byte = static_cast<std::uint8_t>(word[static_cast<std::size_t>(i)]);
    symbols.push_back({byte_ids_[byte], i - 1, i + 1 < length ? i + 1 : -1});
  }
  const auto at = [&symbols](std::ptrdiff_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::ptrdiff_t left) {
    if (left < 0 || at(left).next < 0) return;
    const std::uint64_t pair = pair_key(at(left).id, at(at(left).next).id);
    const auto merge = merges_.find(pair);
    if (merge != merges_.end()) candidates.push({merge->second.rank, left, merge->second.result, pair});
  };
  for (std::ptrdiff_t i = 0; i + 1 < length; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Symbol& left = at(best.left);
    if (left.id < 0 || left.next < 0 || pair_key(left.id, at(left.next).id) != best.pair) continue;
    Symbol& right = at(left.next);
    left.id = best.result;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) at(left.next).previous = best.left;
    consider(left.previous);
    consider(best.left);
  }
  for (std::ptrdiff_t i = 0; i >= 0 && i < length; i = at(i).next) ids.push_back(at(i).id);
}

}  // namespace reprise
