// SPDX-License-Identifier: Apache-2.0
#include "memory/occupancy.h"

#include <algorithm>
#include <bit>

namespace reprise {

bool ByteSet::add(ByteRange range) {
  // The first range that touches or lies beyond: everything before it ends below.
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin,
                                      [](const ByteRange& one, std::int64_t begin) { return one.end < begin; });
  if (first == ranges_.end() || first->begin > range.end) {
    ranges_.insert(first, range);
    return true;
  }
  if (first->begin <= range.begin && range.end <= first->end) return false;
  auto last = first;  // one beyond the last that touches
  while (last != ranges_.end() && last->begin <= range.end) ++last;
  *first = {std::min(first->begin, range.begin), std::max(std::prev(last)->end, range.end)};
  ranges_.erase(std::next(first), last);
  return true;
}

Occupancy::Occupancy(std::size_t positions) : leaves_(std::bit_ceil(std::max<std::size_t>(positions, 1))), throughout_(leaves_), anywhere_(2 * leaves_) {}

void Occupancy::clear() {
  for (ByteSet& set : throughout_) set.clear();
  for (ByteSet& set : anywhere_) set.clear();
}

void Occupancy::take(ByteRange range, std::size_t first, std::size_t last) {
  const auto cover = [&](std::size_t node) {
    if (node < leaves_) throughout_[node].add(range);
    // What is taken in a node is taken in its parents: where it was there already, it is above too.
    for (std::size_t above = node; above > 0 && anywhere_[above].add(range);) above /= 2;
  };
  std::size_t left = first + leaves_;
  std::size_t right = last + leaves_ + 1;
  for (; left < right; left /= 2, right /= 2) {
    if (left % 2 == 1) cover(left++);
    if (right % 2 == 1) cover(--right);
  }
}

void Occupancy::gather(std::size_t first, std::size_t last) {
  cursors_.clear();
  const auto look_at = [&](const ByteSet& set) {
    const std::vector<ByteRange>& ranges = set.ranges();
    if (!ranges.empty()) cursors_.push_back({ranges.data(), ranges.data() + ranges.size()});
  };
  std::size_t left = first + leaves_;
  std::size_t right = last + leaves_ + 1;
  for (; left < right; left /= 2, right /= 2) {
    if (left % 2 == 1) look_at(anywhere_[left++]);
    if (right % 2 == 1) look_at(anywhere_[--right]);
  }
  // And what covers all of a node above: the paths from both ends meet. A set that those nodes hold too does no harm.
  std::size_t low = (first + leaves_) / 2;
  std::size_t high = (last + leaves_) / 2;
  for (; low != high; low /= 2, high /= 2) {
    look_at(throughout_[low]);
    look_at(throughout_[high]);
  }
  for (; low > 0; low /= 2) look_at(throughout_[low]);
}

}  // namespace reprise
