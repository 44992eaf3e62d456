// SPDX-License-Identifier: Apache-2.0
// Which bytes of a region are taken when: what a packer asks for gaps. A segment tree over positions, of merged ranges of bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace reprise {

/// Bytes [begin, end).
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// A set of bytes, as ranges that neither overlap nor touch, in ascending order.
class ByteSet {
 public:
  /// Adds a range that is not empty; false when all of it was there.
  bool add(ByteRange range);
  void clear() { ranges_.clear(); }
  const std::vector<ByteRange>& ranges() const { return ranges_; }

 private:
  std::vector<ByteRange> ranges_;
};

/// Bytes taken over intervals of positions 0 .. positions-1. Both calls touch a logarithmic number of sets, and ranges that are
/// stacked without a gap are one: what is free beside thousands of them is found in a few steps.
class Occupancy {
 public:
  explicit Occupancy(std::size_t positions);

  void clear();
  /// Takes a range that is not empty at every position first .. last.
  void take(ByteRange range, std::size_t first, std::size_t last);

  /// Calls `visit` with every range of bytes from 0 on that is free at all positions first .. last and lies below a taken one, in
  /// ascending order, until it returns true. Returns where the walk ended: behind all that is taken, unless `visit` stopped it.
  template <class Visit>
  std::int64_t visit_gaps(std::size_t first, std::size_t last, Visit&& visit);

 private:
  /// The ranges of one set that the walk has not passed yet; never none.
  struct Cursor {
    const ByteRange* at;
    const ByteRange* end;
  };

  /// Gathers the sets whose union is what is taken at any of the positions first .. last.
  void gather(std::size_t first, std::size_t last);

  std::size_t leaves_;  // a power of two; node 1 is the root, nodes 2n and 2n + 1 are the halves of node n
  std::vector<ByteSet> throughout_;  // by inner node: taken at all of its positions, by intervals that do not cover its parent
  std::vector<ByteSet> anywhere_;    // by node: taken at one of its positions or more
  std::vector<Cursor> cursors_;
};

template <class Visit>
std::int64_t Occupancy::visit_gaps(std::size_t first, std::size_t last, Visit&& visit) {
  gather(first, last);
  std::int64_t free_from = 0;
  while (!cursors_.empty()) {
    std::int64_t next = std::numeric_limits<std::int64_t>::max();  // where what is not passed yet begins
    for (std::size_t c = 0; c < cursors_.size();) {
      Cursor& cursor = cursors_[c];
      for (; cursor.at != cursor.end && cursor.at->begin <= free_from; ++cursor.at) free_from = std::max(free_from, cursor.at->end);
      if (cursor.at == cursor.end) {
        cursor = cursors_.back();
        cursors_.pop_back();
      } else {
        next = std::min(next, cursor.at->begin);
        ++c;
      }
    }
    if (cursors_.empty() || next <= free_from) continue;
    if (visit(ByteRange{free_from, next})) break;
    free_from = next;
  }
  return free_from;
}

}  // namespace reprise
