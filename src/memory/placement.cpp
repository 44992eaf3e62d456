// SPDX-License-Identifier: Apache-2.0
#include "memory/placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "memory/occupancy.h"

namespace reprise {
namespace {

enum class Fit { lowest, tightest };

/// One event list entry: bytes come or go at a position.
struct Event {
  std::int64_t position;
  std::int64_t bytes;
};

/// Live bytes as a step function: position of each step and the bytes from there on.
std::vector<Event> live_profile(std::span<const Buffer> buffers) {
  std::vector<Event> events;
  events.reserve(buffers.size() * 2);
  for (const Buffer& buffer : buffers) {
    events.push_back({buffer.first, buffer.bytes});
    events.push_back({buffer.last + 1, -buffer.bytes});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.position < b.position; });
  std::vector<Event> profile;
  std::int64_t live = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    live += events[i].bytes;
    if (i + 1 == events.size() || events[i + 1].position != events[i].position) profile.push_back({events[i].position, live});
  }
  return profile;
}

/// The largest number of any range of a list: the maxima of all ranges whose length is a power of two are kept.
class RangeMaximum {
 public:
  explicit RangeMaximum(std::vector<std::int64_t> numbers) {
    levels_.push_back(std::move(numbers));
    for (std::size_t width = 1; 2 * width <= levels_[0].size(); width *= 2) {
      const std::vector<std::int64_t>& half = levels_.back();
      std::vector<std::int64_t> whole;
      for (std::size_t i = 0; i + width < half.size(); ++i) whole.push_back(std::max(half[i], half[i + width]));
      levels_.push_back(std::move(whole));
    }
  }

  /// Of numbers begin .. end-1, at least one.
  std::int64_t operator()(std::size_t begin, std::size_t end) const {
    const auto level = static_cast<std::size_t>(std::bit_width(end - begin)) - 1;
    return std::max(levels_[level][begin], levels_[level][end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> levels_;
};

/// The most bytes that are alive together with each buffer.
std::vector<std::int64_t> contention(std::span<const Buffer> buffers) {
  const std::vector<Event> profile = live_profile(buffers);
  std::vector<std::int64_t> alive;
  for (const Event& step : profile) alive.push_back(step.bytes);
  const RangeMaximum most_alive(std::move(alive));
  // The steps at positions first .. last: every buffer starts at one.
  const auto step_at = [&](std::int64_t position) {
    const auto at = std::lower_bound(profile.begin(), profile.end(), position,
                                     [](const Event& event, std::int64_t wanted) { return event.position < wanted; });
    return static_cast<std::size_t>(at - profile.begin());
  };
  std::vector<std::int64_t> most;
  for (const Buffer& buffer : buffers) most.push_back(most_alive(step_at(buffer.first), step_at(buffer.last + 1)));
  return most;
}

std::int64_t align_to(std::int64_t bytes, std::int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// Where a buffer goes: into the lowest or the tightest gap that holds it, or behind all of them.
class GapChoice {
 public:
  GapChoice(std::int64_t bytes, Fit fit) : bytes_(bytes), fit_(fit) {}

  /// Considers a gap that lies above those before it; whether none above can be better.
  bool offer(ByteRange gap) {
    const std::int64_t size = gap.end - gap.begin;
    if (size < bytes_ || size >= smallest_) return false;
    offset_ = gap.begin;
    smallest_ = size;
    return fit_ == Fit::lowest;
  }

  std::int64_t offset(std::int64_t behind_all) const { return offset_ >= 0 ? offset_ : behind_all; }

 private:
  std::int64_t bytes_;
  Fit fit_;
  std::int64_t offset_ = -1;
  std::int64_t smallest_ = std::numeric_limits<std::int64_t>::max();
};

/// Places buffers one after another in an order, each into a gap between those placed before that live with it.
class Packer {
 public:
  Packer(std::span<const Buffer> buffers, std::int64_t alignment)
      : buffers_(buffers), alignment_(alignment), positions_(used_positions(buffers)), taken_(positions_.size()) {
    lives_.reserve(buffers.size());
    for (const Buffer& buffer : buffers) lives_.push_back({rank(buffer.first), rank(buffer.last)});
  }

  Placement pack(std::span<const std::size_t> order, Fit fit) {
    Placement result;
    result.offsets.assign(buffers_.size(), 0);
    taken_.clear();
    for (const std::size_t i : order) {
      const std::int64_t bytes = buffers_[i].bytes;
      if (bytes == 0) continue;
      GapChoice choice(bytes, fit);
      const std::int64_t behind = taken_.visit_gaps(lives_[i].first, lives_[i].last, [&](ByteRange gap) { return choice.offer(gap); });
      const std::int64_t offset = choice.offset(behind);
      result.offsets[i] = offset;
      result.peak = std::max(result.peak, offset + bytes);
      taken_.take({offset, align_to(offset + bytes, alignment_)}, lives_[i].first, lives_[i].last);
    }
    return result;
  }

 private:
  /// First and last of a life, as indices into positions_.
  struct Life {
    std::size_t first;
    std::size_t last;
  };

  static std::vector<std::int64_t> used_positions(std::span<const Buffer> buffers) {
    std::vector<std::int64_t> positions;
    positions.reserve(2 * buffers.size());
    for (const Buffer& buffer : buffers) positions.insert(positions.end(), {buffer.first, buffer.last});
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    return positions;
  }

  std::size_t rank(std::int64_t position) const {
    return static_cast<std::size_t>(std::lower_bound(positions_.begin(), positions_.end(), position) - positions_.begin());
  }

  std::span<const Buffer> buffers_;
  std::int64_t alignment_;
  std::vector<std::int64_t> positions_;  // at which a life begins or ends, ascending
  std::vector<Life> lives_;              // by buffer
  Occupancy taken_;
};

/// Makes the placements of Packer for orders that change little: what the unchanged beginning of an order placed stays. Keeps a
/// list by offset, which for a few thousand buffers is faster than a tree.
class Repacker {
 public:
  Repacker(std::span<const Buffer> buffers, std::int64_t alignment, Fit fit, Placement start)
      : buffers_(buffers), alignment_(alignment), fit_(fit), placement_(std::move(start)) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].bytes > 0) placed_.push_back(placed_at(i));
    }
    std::sort(placed_.begin(), placed_.end(), below);
  }

  const Placement& placement() const { return placement_; }

  /// Places anew the buffers from place `from` of `order` on; those before it were placed by the same beginning of an order.
  void repack(std::span<const std::size_t> order, std::size_t from) {
    stays_.assign(buffers_.size(), false);
    for (const std::size_t i : order.first(from)) stays_[i] = true;
    std::erase_if(placed_, [&](const Placed& placed) { return !stays_[placed.buffer]; });
    placement_.peak = 0;
    for (const Placed& placed : placed_) placement_.peak = std::max(placement_.peak, placed.offset + buffers_[placed.buffer].bytes);
    for (const std::size_t i : order.subspan(from)) {
      if (buffers_[i].bytes == 0) continue;
      placement_.offsets[i] = find_place(buffers_[i]);
      placement_.peak = std::max(placement_.peak, placement_.offsets[i] + buffers_[i].bytes);
      const Placed placed = placed_at(i);
      placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), placed, below), placed);
    }
  }

 private:
  struct Placed {
    std::int64_t offset;
    std::int64_t end;  // aligned
    std::int64_t first;
    std::int64_t last;
    std::size_t buffer;
  };

  static bool below(const Placed& a, const Placed& b) { return a.offset < b.offset; }

  Placed placed_at(std::size_t i) const {
    const std::int64_t offset = placement_.offsets[i];
    return {offset, align_to(offset + buffers_[i].bytes, alignment_), buffers_[i].first, buffers_[i].last, i};
  }

  std::int64_t find_place(const Buffer& buffer) const {
    GapChoice choice(buffer.bytes, fit_);
    std::int64_t free_from = 0;
    for (const Placed& placed : placed_) {
      if (placed.last < buffer.first || placed.first > buffer.last) continue;
      if (choice.offer({free_from, placed.offset})) break;
      free_from = std::max(free_from, placed.end);
    }
    return choice.offset(free_from);
  }

  std::span<const Buffer> buffers_;
  std::int64_t alignment_;
  Fit fit_;
  Placement placement_;
  std::vector<Placed> placed_;  // by offset
  std::vector<bool> stays_;     // by buffer
};

std::vector<std::vector<std::size_t>> portfolio(std::span<const Buffer> buffers) {
  const std::vector<std::int64_t> crowd = contention(buffers);
  const auto length = [&](std::size_t i) { return buffers[i].last - buffers[i].first + 1; };
  const auto area = [&](std::size_t i) { return static_cast<double>(buffers[i].bytes) * static_cast<double>(length(i)); };
  // Each key is compared from the largest down; ties fall to the next key, and at last to the index.
  using Key = std::array<double, 3>;
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const std::array<std::function<Key(std::size_t)>, 7> keys = {
      [&](std::size_t i) { return Key{number(buffers[i].bytes), number(length(i)), 0}; },
      [&](std::size_t i) { return Key{area(i), number(buffers[i].bytes), 0}; },
      [&](std::size_t i) { return Key{number(length(i)), number(buffers[i].bytes), 0}; },
      [&](std::size_t i) { return Key{number(crowd[i]), number(buffers[i].bytes), number(length(i))}; },
      [&](std::size_t i) { return Key{number(crowd[i]), number(length(i)), number(buffers[i].bytes)}; },
      [&](std::size_t i) { return Key{-number(buffers[i].first), number(buffers[i].bytes), number(length(i))}; },
      [&](std::size_t i) { return Key{number(buffers[i].last), number(buffers[i].bytes), number(length(i))}; },
  };
  std::vector<std::vector<std::size_t>> orders;
  for (const auto& key : keys) {
    std::vector<Key> values(buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) values[i] = key(i);
    std::vector<std::size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    orders.push_back(std::move(order));
  }
  return orders;
}

struct Candidate {
  std::vector<std::size_t> order;
  Fit fit = Fit::lowest;
  Placement placement;
};

/// Walks over orders: again and again moves the buffers that end at the peak to an earlier place and packs anew. A step
/// that makes things worse is kept too, since it often leads out of a dead end; the best placement seen is returned.
Placement walk(std::span<const Buffer> buffers, std::int64_t alignment, Candidate start, std::int64_t bound, std::int64_t rounds) {
  Placement best = start.placement;
  Repacker packer(buffers, alignment, start.fit, std::move(start.placement));
  std::vector<std::size_t>& order = start.order;
  for (std::int64_t round = 0; round < rounds && best.peak > bound; ++round) {
    const Placement& current = packer.placement();
    std::size_t top = 0;
    for (std::size_t k = 1; k < order.size(); ++k) {
      const std::size_t i = order[k];
      if (buffers[i].bytes > 0 && current.offsets[i] + buffers[i].bytes == current.peak) top = k;
    }
    if (top == 0) break;
    // Mostly short moves: they keep more of what is good about the order. The pattern has no short period.
    const std::size_t target = round % 7 == 6 ? top / 4 : (round % 3 == 2 ? top / 2 : top - top / 16 - 1);
    const auto begin = order.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(target), begin + static_cast<std::ptrdiff_t>(top),
                begin + static_cast<std::ptrdiff_t>(top) + 1);
    packer.repack(order, target);
    if (current.peak < best.peak) best = current;
  }
  return best;
}

}  // namespace

std::int64_t peak_live_bytes(std::span<const Buffer> buffers) {
  std::int64_t peak = 0;
  for (const Event& step : live_profile(buffers)) peak = std::max(peak, step.bytes);
  return peak;
}

Placement place_buffers(std::span<const Buffer> buffers, std::int64_t alignment) {
  REPRISE_CHECK(alignment > 0, "alignment of a placement");
  for (const Buffer& buffer : buffers) REPRISE_CHECK(buffer.first <= buffer.last && buffer.bytes >= 0, "lifetime of a buffer");
  const std::int64_t bound = peak_live_bytes(buffers);
  const std::int64_t enough = bound + bound / 256;  // what is left would be worth less than the search
  Packer packer(buffers, alignment);
  std::vector<Candidate> candidates;
  Placement best;
  best.peak = std::numeric_limits<std::int64_t>::max();
  for (const auto& order : portfolio(buffers)) {
    for (const Fit fit : {Fit::lowest, Fit::tightest}) {
      candidates.push_back({order, fit, packer.pack(order, fit)});
      if (candidates.back().placement.peak < best.peak) best = candidates.back().placement;
      if (best.peak <= enough) return best;
    }
  }
  // A walk's packing is quadratic: the work is bounded, not the time, so that every machine makes the same plan.
  constexpr std::int64_t kWork = 250'000'000;
  const auto count = static_cast<std::int64_t>(buffers.size());
  const std::int64_t rounds = std::min<std::int64_t>(1'000, kWork / (count * count * static_cast<std::int64_t>(candidates.size())));
  for (Candidate& candidate : candidates) {
    Placement walked = walk(buffers, alignment, std::move(candidate), enough, rounds);
    if (walked.peak < best.peak) best = std::move(walked);
    if (best.peak <= enough) break;
  }
  return best;
}

}  // namespace reprise
