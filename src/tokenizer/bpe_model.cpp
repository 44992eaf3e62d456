// SPDX-License-Identifier: Apache-2.0
// Merging: of a short word all pairs are looked over for the earliest merge each time; a long one is a linked list of symbols, its
// possible merges a heap by (rank, position).
#include "tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <queue>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::string_view kMarkText = "\xE2\x96\x81";  // U+2581, stands for a space in vocabularies of characters
constexpr std::size_t kFewUnits = 32;

std::size_t slot_of(std::uint64_t pair, std::size_t slots) {
  return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> 20) & (slots - 1);
}

}  // namespace

BpeModel::BpeModel(BpeVocabulary vocabulary, BpeSettings settings, BpeUnit unit_of_words)
    : vocabulary_(std::move(vocabulary)), settings_(std::move(settings)), unit_(unit_of_words) {
  const auto& tokens = vocabulary_.tokens;
  ids_.reserve(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    const auto [entry, inserted] = ids_.emplace(tokens[id], static_cast<std::int32_t>(id));
    if (!inserted) {
      throw UserError(fmt::format("BPE vocabulary has the token \"{}\" twice: remove one; ids {} and {}", tokens[id], entry->second, id));
    }
  }
  if (settings_.unknown) {
    const auto id = find(*settings_.unknown);
    if (!id) throw UserError(fmt::format("BPE vocabulary lacks the unknown token \"{}\": add it", *settings_.unknown));
    unknown_ = *id;
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string unit = fmt::format("<0x{:02X}>", byte);
    if (unit_ == BpeUnit::byte) {
      unit.clear();
      append_utf8(unit, byte_alphabet()[byte]);
    }
    byte_ids_[byte] = find(unit).value_or(-1);
  }

  merges_.resize(std::bit_ceil(2 * vocabulary_.merges.size() + 1));
  for (std::size_t rank = 0; rank < vocabulary_.merges.size(); ++rank) {
    const auto [left, right] = vocabulary_.merges[rank];
    const std::string& first = tokens.at(static_cast<std::size_t>(left));
    const std::string& second = tokens.at(static_cast<std::size_t>(right));
    REPRISE_CHECK(!first.empty() && !second.empty(), fmt::format("merge {} joins ids without tokens: {} and {}", rank, left, right));
    const std::string merged = first + second;
    const auto id = find(merged);
    if (!id) {
      throw UserError(fmt::format("BPE vocabulary lacks the token \"{}\" that merge {} makes: add it or remove the merge", merged, rank));
    }
    add_merge(pair_key(left, right), {static_cast<std::int32_t>(rank), *id});
  }
  find_cuts();
}

void BpeModel::add_merge(std::uint64_t pair, Merge merge) {
  for (std::size_t at = slot_of(pair, merges_.size());; at = (at + 1) & (merges_.size() - 1)) {
    MergeSlot& slot = merges_[at];
    if (slot.merge.result >= 0 && slot.pair != pair) continue;
    slot = {pair, merge};  // of a merge that stands twice the later place counts, as with Hugging Face
    return;
  }
}

BpeModel::Merge BpeModel::find_merge(std::uint64_t pair) const {
  for (std::size_t at = slot_of(pair, merges_.size());; at = (at + 1) & (merges_.size() - 1)) {
    const MergeSlot& slot = merges_[at];
    if (slot.merge.result < 0 || slot.pair == pair) return slot.merge;
  }
}

std::optional<std::int32_t> BpeModel::find(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

void BpeModel::find_cuts() {
  may_cut_ = unit_ == BpeUnit::character && !settings_.ignore_merges && find(kMarkText).has_value();
  if (!may_cut_) return;
  for (const auto& [left, right] : vocabulary_.merges) {
    // A mark inside a part was joined by the merge that made the part: only the seam is new.
    const std::string& before = vocabulary_.tokens[static_cast<std::size_t>(left)];
    if (!vocabulary_.tokens[static_cast<std::size_t>(right)].starts_with(kMarkText)) continue;
    std::size_t last = before.size() - 1;
    while (last > 0 && (static_cast<std::uint8_t>(before[last]) & 0xC0u) == 0x80u) --last;
    joined_before_mark_.insert(read_utf8(before, last).code_point);
  }
}

std::size_t BpeModel::cut_behind(std::string_view text, std::size_t begin) const {
  if (!may_cut_) return text.size();
  for (std::size_t mark = begin;;) {
    mark = text.find(kMarkText, mark + 1);
    if (mark == std::string_view::npos) return text.size();
    std::size_t last = mark - 1;
    while (last > begin && (static_cast<std::uint8_t>(text[last]) & 0xC0u) == 0x80u) --last;
    if (!joined_before_mark_.contains(read_utf8(text, last).code_point)) return mark;
  }
}

void BpeModel::append_units(std::string_view word, std::vector<std::int32_t>& ids) const {
  bool unknown_open = false;  // an unknown token is due before the next known one
  const auto close_unknown = [&] {
    if (unknown_open) ids.push_back(unknown_);
    unknown_open = false;
  };
  for (std::size_t position = 0; position < word.size();) {
    std::int32_t id = -1;
    std::size_t length = 1;
    if (unit_ == BpeUnit::byte) {
      id = byte_ids_[static_cast<std::uint8_t>(word[position])];
    } else {
      length = read_utf8(word, position).length;
      id = find(word.substr(position, length)).value_or(-1);
    }
    const std::string_view unit = word.substr(position, length);
    position += length;
    if (id >= 0) {
      close_unknown();
      ids.push_back(id);
      continue;
    }
    if (settings_.byte_fallback && unit_ == BpeUnit::character) {
      const std::size_t before = ids.size();
      for (const char byte : unit) ids.push_back(byte_ids_[static_cast<std::uint8_t>(byte)]);
      bool whole = true;
      for (std::size_t i = before; i < ids.size(); ++i) whole = whole && ids[i] >= 0;
      if (whole) continue;
      ids.resize(before);
    }
    if (unknown_ < 0) {
      throw UserError(fmt::format("the tokenizer has no token for a part of the text, and no unknown token: leave it out, or take another "
                                  "tokenizer; \"{}\"",
                                  unit_ == BpeUnit::byte ? to_byte_alphabet(unit) : replace_invalid_utf8(unit)));
    }
    if (!settings_.fuse_unknown) close_unknown();
    unknown_open = true;
  }
  close_unknown();
}

void BpeModel::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (settings_.ignore_merges) {
    if (const auto whole = find(unit_ == BpeUnit::byte ? to_byte_alphabet(word) : std::string(word))) {
      ids.push_back(*whole);
      return;
    }
  }
  const std::size_t begin = ids.size();
  append_units(word, ids);
  const std::size_t units = ids.size() - begin;
  if (units > kFewUnits) merge_many(ids, begin);
  else if (units > 1) merge_few(ids, begin);
}

void BpeModel::merge_few(std::vector<std::int32_t>& units, std::size_t begin) const {
  constexpr Merge kNone{std::numeric_limits<std::int32_t>::max(), -1};
  std::array<std::int32_t, kFewUnits> ids{};
  std::array<Merge, kFewUnits> merges{};  // of a unit with the next
  std::size_t count = units.size() - begin;
  std::copy(units.begin() + static_cast<std::ptrdiff_t>(begin), units.end(), ids.begin());
  const auto look_up = [&](std::size_t i) {
    const Merge merge = i + 1 < count ? find_merge(pair_key(ids[i], ids[i + 1])) : kNone;
    merges[i] = merge.result >= 0 ? merge : kNone;
  };
  for (std::size_t i = 0; i < count; ++i) look_up(i);
  for (;;) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].result < 0) break;
    ids[best] = merges[best].result;
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      ids[i] = ids[i + 1];
      merges[i] = merges[i + 1];
    }
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  units.resize(begin);
  units.insert(units.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
}

void BpeModel::merge_many(std::vector<std::int32_t>& units, std::size_t begin) const {
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
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  const auto length = static_cast<std::ptrdiff_t>(units.size() - begin);
  std::vector<Symbol> symbols;
  symbols.reserve(units.size() - begin);
  for (std::ptrdiff_t i = 0; i < length; ++i) {
    symbols.push_back({units[begin + static_cast<std::size_t>(i)], i - 1, i + 1 < length ? i + 1 : -1});
  }
  const auto at = [&symbols](std::ptrdiff_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::ptrdiff_t left) {
    if (left < 0 || at(left).next < 0) return;
    const std::uint64_t pair = pair_key(at(left).id, at(at(left).next).id);
    const Merge merge = find_merge(pair);
    if (merge.result >= 0) candidates.push({merge.rank, left, merge.result, pair});
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
  units.resize(begin);
  for (std::ptrdiff_t i = 0; i >= 0; i = at(i).next) units.push_back(at(i).id);
}

}  // namespace reprise
