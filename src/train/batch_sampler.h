// SPDX-License-Identifier: Apache-2.0
// Which tokens a step reads. Everything is a function of (token count, sizes, seed, step, micro-step), so a resumed run
// reads what the uninterrupted one would have read, with no state to save but the step.
#pragma once

#include <cstdint>
#include <span>

#include "train/document_packing.h"
#include "train/token_view.h"

namespace reprise {

/// The target of a position that counts for no loss.
inline constexpr std::int64_t kIgnoredTarget = -100;

struct BatchOptions {
  std::int64_t block_size = 0;        // tokens of a window
  std::int64_t micro_batch_size = 0;  // windows of a micro-step
  std::int64_t micro_steps = 1;       // micro-steps of a step
  std::uint64_t seed = 0;
};

/// A batch to fill, row-major: [rows, block_size] each. `positions` may be empty where they are not asked for. Int is std::int32_t
/// or std::int64_t.
template <class Int>
struct BatchSpans {
  std::span<Int> inputs, targets, positions;
};

/// Training batches: shuffled windows, or the rows of a packing, each once an epoch.
///
/// The windows of an epoch lie side by side from an offset drawn for that epoch in [0, block_size), so that their cuts move
/// from epoch to epoch; at most 2 block_size tokens at the ends are left out of an epoch. Their order is a keyed bijection
/// (Feistel network over Philox, walked along its cycle until it falls inside the epoch; Black & Rogaway, "Ciphers with
/// arbitrary finite domains", 2002). Windows are dealt out in order of (step, micro-step, row), across epochs: the windows of
/// a step do not depend on how it is cut into micro-steps.
class BatchSampler {
 public:
  /// UserError when there are fewer than block_size + 1 tokens.
  BatchSampler(std::int64_t token_count, const BatchOptions& options);
  /// The same with the rows of `packing`, which must outlive the sampler, in place of windows. UserError when it has none.
  BatchSampler(const DocumentPacking& packing, const BatchOptions& options);

  /// Windows, or rows of the packing, of an epoch.
  std::int64_t windows_per_epoch() const { return windows_per_epoch_; }
  /// Returns the first token of row `row` of a micro-step's batch; `step` and `micro_step` count from 0.
  std::int64_t window_start(std::int64_t step, std::int64_t micro_step, std::int64_t row) const;
  /// Fills a micro-step's batch; a target is the token after its input, or kIgnoredTarget where that is not to be learned.
  /// Positions need a packing.
  template <class Int>
  void fill(std::int64_t step, std::int64_t micro_step, const TokenView& tokens, const BatchSpans<Int>& batch) const;
  /// Number of targets that count in all micro-steps of a step.
  std::int64_t kept_targets(std::int64_t step, const TokenView& tokens) const;

 private:
  /// Which of its epoch's windows a row is, and the epoch.
  struct Dealt {
    std::int64_t epoch, window;
  };
  Dealt dealt(std::int64_t step, std::int64_t micro_step, std::int64_t row) const;

  std::int64_t token_count_ = 0;
  const DocumentPacking* packing_ = nullptr;
  BatchOptions options_;
  std::int64_t windows_per_epoch_;
  std::int64_t largest_offset_ = 0;
};

/// Validation batches: the tokens in order, every token but the first a target exactly once; or the rows of a packing in order.
/// The last window may be short and the last batch may have empty rows: there the inputs are 0 and the targets kIgnoredTarget.
class ValidationBatches {
 public:
  /// UserError when there are fewer than 2 tokens.
  ValidationBatches(std::int64_t token_count, std::int64_t block_size, std::int64_t batch_size);
  /// `packing` must outlive this. UserError when it has no rows.
  ValidationBatches(const DocumentPacking& packing, std::int64_t batch_size);

  std::int64_t batch_count() const { return batch_count_; }
  /// Fills batch `batch`: [batch_size, block_size].
  template <class Int>
  void fill(std::int64_t batch, const TokenView& tokens, const BatchSpans<Int>& spans) const;

 private:
  std::int64_t token_count_ = 0;
  const DocumentPacking* packing_ = nullptr;
  std::int64_t block_size_;
  std::int64_t batch_size_;
  std::int64_t batch_count_;
};

}  // namespace reprise
