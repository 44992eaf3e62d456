// SPDX-License-Identifier: Apache-2.0
#include "train/document_packing.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>

#include "base/error.h"
#include "train/batch_sampler.h"

namespace reprise {
namespace {

/// Gives each of the lengths (at most `room`) a row; returns the number of rows.
std::uint64_t assign_rows(std::span<const std::int64_t> lengths, std::int64_t room, std::vector<std::uint64_t>& row_of) {
  std::vector<std::uint64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) { return lengths[a] > lengths[b]; });
  std::map<std::int64_t, std::vector<std::uint64_t>> open;  // rows by the room they have left
  std::uint64_t count = 0;
  row_of.resize(lengths.size());
  for (const std::uint64_t piece : order) {
    const std::int64_t length = lengths[piece];
    const auto best = open.lower_bound(length);
    std::int64_t left = room - length;
    if (best == open.end()) {
      row_of[piece] = count++;
    } else {
      row_of[piece] = best->second.back();
      left = best->first - length;
      best->second.pop_back();
      if (best->second.empty()) open.erase(best);
    }
    if (left > 0) open[left].push_back(row_of[piece]);
  }
  return count;
}

}  // namespace

DocumentPacking::DocumentPacking(std::span<const std::uint64_t> documents, std::int64_t token_count, std::int64_t block_size)
    : block_size_(block_size) {
  REPRISE_CHECK(block_size > 0, "a row has at least one position");
  std::vector<Piece> pieces;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    const std::uint64_t end = d + 1 < documents.size() ? documents[d + 1] : static_cast<std::uint64_t>(token_count);
    std::uint64_t start = documents[d];
    while (end - start > 1) {
      const std::int64_t length = std::min(block_size, static_cast<std::int64_t>(end - start) - 1);
      pieces.push_back({start, length});
      start += static_cast<std::uint64_t>(length);
    }
  }
  std::vector<std::int64_t> lengths;
  for (const Piece& piece : pieces) lengths.push_back(piece.length);
  std::vector<std::uint64_t> row_of;
  const std::uint64_t count = assign_rows(lengths, block_size, row_of);

  rows_.assign(count + 1, 0);
  for (const std::uint64_t row : row_of) ++rows_[row + 1];
  std::partial_sum(rows_.begin(), rows_.end(), rows_.begin());
  std::vector<std::uint64_t> next(rows_.begin(), rows_.end() - 1);
  pieces_.resize(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces_[next[row_of[i]]++] = pieces[i];
}

std::span<const DocumentPacking::Piece> DocumentPacking::pieces_of(std::int64_t row) const {
  REPRISE_CHECK(row >= 0 && row < row_count(), "no such row");
  const std::uint64_t begin = rows_[static_cast<std::size_t>(row)];
  return std::span(pieces_).subspan(begin, rows_[static_cast<std::size_t>(row) + 1] - begin);
}

std::int64_t DocumentPacking::kept_targets(std::int64_t row, const TokenView& tokens) const {
  std::int64_t kept = 0;
  for (const Piece& piece : pieces_of(row)) {
    const auto first = static_cast<std::int64_t>(piece.start) + 1;
    for (std::int64_t t = 0; t < piece.length; ++t) kept += tokens.is_target(first + t) ? 1 : 0;
  }
  return kept;
}

template <class Int>
void DocumentPacking::fill(std::int64_t row, const TokenView& tokens, std::span<Int> inputs, std::span<Int> targets,
                           std::span<Int> positions) const {
  const auto size = static_cast<std::size_t>(block_size_);
  REPRISE_CHECK(inputs.size() == size && targets.size() == size && positions.size() == size, "a row is [block_size]");
  std::size_t at = 0;
  for (const Piece& piece : pieces_of(row)) {
    for (std::int64_t t = 0; t < piece.length; ++t, ++at) {
      const std::int64_t token = static_cast<std::int64_t>(piece.start) + t;
      inputs[at] = static_cast<Int>(tokens[token]);
      targets[at] = static_cast<Int>(tokens.is_target(token + 1) ? tokens[token + 1] : kIgnoredTarget);
      positions[at] = static_cast<Int>(t);
    }
  }
  for (std::size_t t = 0; at < size; ++t, ++at) {
    inputs[at] = 0;
    targets[at] = static_cast<Int>(kIgnoredTarget);
    positions[at] = static_cast<Int>(t);
  }
}

template void DocumentPacking::fill(std::int64_t, const TokenView&, std::span<std::int32_t>, std::span<std::int32_t>,
                                    std::span<std::int32_t>) const;
template void DocumentPacking::fill(std::int64_t, const TokenView&, std::span<std::int64_t>, std::span<std::int64_t>,
                                    std::span<std::int64_t>) const;

}  // namespace reprise
