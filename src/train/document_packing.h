// SPDX-License-Identifier: Apache-2.0
// Rows of whole documents: which documents, or parts of long ones, lie together in a row of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/token_view.h"

namespace reprise {

/// A packing of documents into rows of `block_size` positions. A document of n tokens takes n - 1 positions (each but its last
/// token predicts the next one); a longer one than a row is cut into pieces of a row, and what is left. Each piece goes, longest
/// first, into the row with the least room that is enough, or a new one (best fit decreasing; Johnson, 1973). Every target of a
/// document but its first token is in one row exactly once.
class DocumentPacking {
 public:
  /// `documents`: index of each one's first token, ascending (TokenShard::documents). Takes 16 bytes of memory a document.
  DocumentPacking(std::span<const std::uint64_t> documents, std::int64_t token_count, std::int64_t block_size);

  std::int64_t block_size() const { return block_size_; }
  std::int64_t row_count() const { return static_cast<std::int64_t>(rows_.size()) - 1; }
  /// Fills a row: [block_size] each. Positions count from 0 in every piece. Behind the last piece inputs are 0, targets
  /// kIgnoredTarget, and positions count from 0. `Int` is std::int32_t or std::int64_t.
  template <class Int>
  void fill(std::int64_t row, const TokenView& tokens, std::span<Int> inputs, std::span<Int> targets, std::span<Int> positions) const;
  /// Number of targets of a row that count.
  std::int64_t kept_targets(std::int64_t row, const TokenView& tokens) const;

 private:
  struct Piece {
    std::uint64_t start = 0;  // its first token
    std::int64_t length = 0;  // positions
  };
  std::span<const Piece> pieces_of(std::int64_t row) const;

  std::int64_t block_size_;
  std::vector<Piece> pieces_;        // by row, those of a row in the text's order
  std::vector<std::uint64_t> rows_;  // the first piece of each row, and the end
};

}  // namespace reprise
