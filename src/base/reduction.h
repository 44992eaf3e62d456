// SPDX-License-Identifier: Apache-2.0
// The reduction orders of the numeric contract, once, for the reference evaluation and the compiled kernels alike. Each function is a
// template over the element type (float; double in float64 traces) and over a load functor `T load(std::size_t i)`. 16-bit inputs are
// loaded as float and results rounded once by the caller.
//
//   slots   Element i of a block goes to slot i mod 64: accumulator (i / 16) mod 4, lane i mod 16. Every slot is a chain in ascending i
//           that starts from the identity. A ragged tail leaves the higher slots as they are. Then lane by lane (a0 + a1) + (a2 + a3), and
//           the 16 lanes halve: lane l takes lane l + 8, then + 4, + 2, + 1.
//   row     Blocks of 4,096 elements, each reduced by slots; block results combined in ascending order.
//   full    Leaves of 4,096 elements, each reduced by slots; the leaf results are reduced the same way until one is left.
//   rows    Sums over rows: a chain over each block of 512 rows, block results combined in ascending order.
//   product Matrix products: an fma chain from +0 over each block of 512 k, block sums added in ascending order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/elementary.h"
#include "base/inline.h"

namespace reprise::reduction {

inline constexpr std::size_t kLanes = 16;
inline constexpr std::size_t kSlots = 64;
inline constexpr std::size_t kColumnBlock = 4096;
inline constexpr std::size_t kRowBlock = 512;
inline constexpr std::size_t kProductBlock = 512;
inline constexpr std::size_t kKeyBlock = 128;

/// Which order a reduction over some dimensions of a value takes; `rows` and `row` enumerate the reduced elements in row-major order.
enum class Rule : std::uint8_t { full, row, rows };

/// Chooses: every dimension reduced -> full; else the last one reduced -> row; else rows. Bit d of `reduced` is dimension d.
/// Sizes play no part.
constexpr Rule reduction_rule(std::size_t rank, std::uint64_t reduced) {
  if (rank == 0 || reduced == (rank == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rank) - 1)) return Rule::full;
  return ((reduced >> (rank - 1)) & 1u) != 0u ? Rule::row : Rule::rows;
}

template <class T>
struct Add {
  REPRISE_INLINE static T identity() { return T(0); }
  REPRISE_INLINE static T combine(T a, T b) { return a + b; }
};
template <class T>
struct Multiply {
  REPRISE_INLINE static T identity() { return T(1); }
  REPRISE_INLINE static T combine(T a, T b) { return a * b; }
};
template <class T>
struct Max {
  REPRISE_INLINE static T identity() { return static_cast<T>(-math::kInfinity); }
  REPRISE_INLINE static T combine(T a, T b) { return math::maximum(a, b); }
};
template <class T>
struct Min {
  REPRISE_INLINE static T identity() { return static_cast<T>(math::kInfinity); }
  REPRISE_INLINE static T combine(T a, T b) { return math::minimum(a, b); }
};

/// Folds 64 slots by the fixed tree. Destroys them.
template <class Op, class T>
REPRISE_INLINE T fold_slots(T* slots) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    slots[l] = Op::combine(Op::combine(slots[l], slots[l + 16]), Op::combine(slots[l + 32], slots[l + 48]));
  }
  for (std::size_t l = 0; l < 8; ++l) slots[l] = Op::combine(slots[l], slots[l + 8]);
  for (std::size_t l = 0; l < 4; ++l) slots[l] = Op::combine(slots[l], slots[l + 4]);
  for (std::size_t l = 0; l < 2; ++l) slots[l] = Op::combine(slots[l], slots[l + 2]);
  return Op::combine(slots[0], slots[1]);
}

/// Reduces elements [begin, begin + n) by slots; n <= 4,096 in every use.
template <class Op, class T, class Load>
REPRISE_INLINE T reduce_block(std::size_t begin, std::size_t n, const Load& load) {
  alignas(64) T slots[kSlots];
  for (std::size_t s = 0; s < kSlots; ++s) slots[s] = Op::identity();
  std::size_t i = 0;
  for (; i + kSlots <= n; i += kSlots) {
    for (std::size_t s = 0; s < kSlots; ++s) slots[s] = Op::combine(slots[s], load(begin + i + s));
  }
  const std::size_t rest = n - i;
  for (std::size_t s = 0; s < rest; ++s) slots[s] = Op::combine(slots[s], load(begin + i + s));
  return fold_slots<Op>(slots);
}

/// Reduces a row of n elements.
template <class Op, class T, class Load>
REPRISE_INLINE T reduce_row(std::size_t n, const Load& load) {
  T result = reduce_block<Op, T>(0, n < kColumnBlock ? n : kColumnBlock, load);
  for (std::size_t begin = kColumnBlock; begin < n; begin += kColumnBlock) {
    const std::size_t rest = n - begin;
    result = Op::combine(result, reduce_block<Op, T>(begin, rest < kColumnBlock ? rest : kColumnBlock, load));
  }
  return result;
}

/// Sums a row of n elements.
template <class T, class Load>
REPRISE_INLINE T sum_row(std::size_t n, const Load& load) {
  return reduce_row<Add<T>, T>(n, load);
}

/// Number of leaves of a full reduction over n elements; at least one.
constexpr std::size_t leaf_count(std::size_t n) { return n == 0 ? 1 : (n + kColumnBlock - 1) / kColumnBlock; }

/// Reduces leaf number `leaf` of a full reduction over n elements.
template <class Op, class T, class Load>
REPRISE_INLINE T reduce_leaf(std::size_t leaf, std::size_t n, const Load& load) {
  const std::size_t begin = leaf * kColumnBlock;
  const std::size_t rest = n - begin;
  return reduce_block<Op, T>(begin, rest < kColumnBlock ? rest : kColumnBlock, load);
}

/// Reduces `count` leaf results, in place, to one.
template <class Op, class T>
REPRISE_INLINE T reduce_leaves(T* results, std::size_t count) {
  while (count > 1) {
    const std::size_t leaves = leaf_count(count);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      results[leaf] = reduce_leaf<Op, T>(leaf, count, [&](std::size_t i) { return results[i]; });
    }
    count = leaves;
  }
  return results[0];
}

/// A full reduction whose leaf results arrive one by one: the same result as reduce_leaves, in constant memory.
template <class Op, class T>
class LeafAccumulator {
 public:
  REPRISE_INLINE LeafAccumulator() {
    for (Level& level : levels_) clear(level);
  }

  REPRISE_INLINE void push(T leaf) {
    T carried = leaf;
    for (Level& level : levels_) {
      const std::size_t slot = level.count % kSlots;
      level.slots[slot] = Op::combine(level.slots[slot], carried);
      level.last = carried;
      level.count += 1;
      if (level.count < kColumnBlock) return;
      carried = fold_slots<Op>(level.slots);
      clear(level);
      level.flushed = true;
    }
  }

  /// The result over all leaves pushed. Ends the accumulation.
  REPRISE_INLINE T finish() {
    T carried = Op::identity();
    bool has_carried = false;
    for (Level& level : levels_) {
      if (has_carried) {
        const std::size_t slot = level.count % kSlots;
        level.slots[slot] = Op::combine(level.slots[slot], carried);
        level.last = carried;
        level.count += 1;
      }
      if (level.count == 0) {  // nothing beyond what went up as full blocks
        has_carried = false;
        continue;
      }
      const bool alone = level.count == 1 && !level.flushed;
      carried = alone ? level.last : fold_slots<Op>(level.slots);
      if (alone) return carried;
      has_carried = true;
    }
    return carried;
  }

 private:
  struct Level {
    alignas(64) T slots[kSlots];
    T last;
    std::size_t count;
    bool flushed = false;
  };

  REPRISE_INLINE static void clear(Level& level) {
    for (std::size_t s = 0; s < kSlots; ++s) level.slots[s] = Op::identity();
    level.last = Op::identity();
    level.count = 0;
  }

  Level levels_[5];
};

/// Reduces n elements to one, as a full reduction.
template <class Op, class T, class Load>
REPRISE_INLINE T reduce_all(std::size_t n, const Load& load) {
  LeafAccumulator<Op, T> leaves;
  const std::size_t count = leaf_count(n);
  for (std::size_t leaf = 0; leaf < count; ++leaf) leaves.push(reduce_leaf<Op, T>(leaf, n, load));
  return leaves.finish();
}

/// Reduces n rows of one column: `load(row)`.
template <class Op, class T, class Load>
REPRISE_INLINE T reduce_rows(std::size_t n, const Load& load) {
  T result = Op::identity();
  for (std::size_t begin = 0; begin < n || begin == 0; begin += kRowBlock) {
    const std::size_t end = n - begin < kRowBlock ? n : begin + kRowBlock;
    T chain = Op::identity();
    for (std::size_t row = begin; row < end; ++row) chain = Op::combine(chain, load(row));
    result = begin == 0 ? chain : Op::combine(result, chain);
  }
  return result;
}

/// The maximum of some elements and the sum of exp(x - maximum) over them (over nothing: -inf and 0).
template <class T>
struct MaxSum {
  T max, sum;
};

/// Joins two parts, the earlier one first: both sums are rescaled to the common maximum.
template <class T>
REPRISE_INLINE MaxSum<T> combine(MaxSum<T> a, MaxSum<T> b) {
  const T max = math::maximum(a.max, b.max);
  const T scale_a = a.max == max ? T(1) : math::exp(a.max - max);
  const T scale_b = b.max == max ? T(1) : math::exp(b.max - max);
  return {max, a.sum * scale_a + b.sum * scale_b};
}

/// Running maximum and sum of exponentials of a row, column block by column block.
template <class T, class Load>
REPRISE_INLINE MaxSum<T> max_sum_row(std::size_t n, const Load& load) {
  MaxSum<T> result{static_cast<T>(-math::kInfinity), T(0)};
  for (std::size_t begin = 0; begin < n; begin += kColumnBlock) {
    const std::size_t size = n - begin < kColumnBlock ? n - begin : kColumnBlock;
    const T max = reduce_block<Max<T>, T>(begin, size, load);
    const T shift = max == static_cast<T>(-math::kInfinity) ? T(0) : max;  // a block of -inf adds 0, not NaN
    const T sum = reduce_block<Add<T>, T>(begin, size, [&](std::size_t i) { return math::exp(load(i) - shift); });
    result = begin == 0 ? MaxSum<T>{max, sum} : combine(result, MaxSum<T>{max, sum});
  }
  return result;
}

/// log(sum exp x) from a row's maximum and sum.
template <class T>
REPRISE_INLINE T log_sum_exp(MaxSum<T> row) {
  const T infinity = static_cast<T>(math::kInfinity);
  return (row.max == infinity) | (row.max == -infinity) ? row.max : row.max + math::log(row.sum);
}

/// One element of a matrix product: sum over i < k of load_a(i) * load_b(i).
template <class T, class LoadA, class LoadB>
REPRISE_INLINE T product_element(std::size_t k, const LoadA& load_a, const LoadB& load_b) {
  T result = T(0);
  for (std::size_t begin = 0; begin < k; begin += kProductBlock) {
    const std::size_t end = k - begin < kProductBlock ? k : begin + kProductBlock;
    T chain = T(0);
    for (std::size_t i = begin; i < end; ++i) chain = math::fma(load_a(i), load_b(i), chain);
    result = begin == 0 ? chain : result + chain;
  }
  return result;
}

/// The same onto c: every block's sum is added to it (matmul_accumulate).
template <class T, class LoadA, class LoadB>
REPRISE_INLINE T product_element_onto(T c, std::size_t k, const LoadA& load_a, const LoadB& load_b) {
  for (std::size_t begin = 0; begin < k; begin += kProductBlock) {
    const std::size_t end = k - begin < kProductBlock ? k : begin + kProductBlock;
    T chain = T(0);
    for (std::size_t i = begin; i < end; ++i) chain = math::fma(load_a(i), load_b(i), chain);
    c = c + chain;
  }
  return c;
}

/// Position i of the k order of bfloat16 products (1, 0, 3, 2, ...): the index within [0, k). An odd last element stays where it is.
constexpr std::size_t swap_pair(std::size_t i, std::size_t k) { return (i ^ 1u) < k ? i ^ 1u : i; }

/// A denormal flushed to a zero of its sign, as the bf16 dot-product instruction flushes inputs and results.
REPRISE_INLINE float flush_denormal(float x) { return math::abs(x) < 0x1p-126f ? math::copysign(0.0f, x) : x; }

/// One element of a bfloat16 product with the operands widened to float: pairs swapped, denormals flushed.
template <class LoadA, class LoadB>
REPRISE_INLINE float product_element_bfloat16(std::size_t k, const LoadA& load_a, const LoadB& load_b) {
  float result = 0.0f;
  for (std::size_t begin = 0; begin < k; begin += kProductBlock) {
    const std::size_t end = k - begin < kProductBlock ? k : begin + kProductBlock;
    float chain = 0.0f;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = swap_pair(i, k);
      chain = flush_denormal(math::fma(flush_denormal(load_a(at)), flush_denormal(load_b(at)), chain));
    }
    result = begin == 0 ? chain : flush_denormal(result + chain);
  }
  return result;
}

}  // namespace reprise::reduction
