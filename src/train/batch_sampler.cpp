// SPDX-License-Identifier: Apache-2.0
// The keyed bijection, and copying windows of tokens into batches.
#include "train/batch_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"

namespace reprise {

namespace {

// Counter word 3 of this file's draws: no other draw of a run with the same seed has it.
constexpr std::uint32_t kDataOrderStream = 0xDA7A0DE5u;
constexpr std::uint32_t kRounds = 8;

std::uint32_t draw(std::uint64_t seed, std::int64_t epoch, std::uint32_t round, std::uint32_t value) {
  return philox4x32(value, round, static_cast<std::uint32_t>(epoch), kDataOrderStream, static_cast<std::uint32_t>(seed),
                    static_cast<std::uint32_t>(seed >> 32))
      .words[0];
}

/// Returns where `index` goes under a bijection of [0, count) chosen by (seed, epoch).
std::int64_t permute(std::int64_t index, std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1)));
  const int half_bits = std::max(1, (bits + 1) / 2);
  const std::uint64_t half_mask = (std::uint64_t{1} << half_bits) - 1;
  auto value = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = value >> half_bits;
    std::uint64_t right = value & half_mask;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::uint64_t mixed = left ^ (draw(seed, epoch, round, static_cast<std::uint32_t>(right)) & half_mask);
      left = right;
      right = mixed;
    }
    value = (left << half_bits) | right;
  } while (value >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(value);
}

/// Row `row` of a batch.
template <class Int>
BatchSpans<Int> row_of(const BatchSpans<Int>& batch, std::int64_t row, std::int64_t block) {
  const auto first = static_cast<std::size_t>(row * block);
  const auto size = static_cast<std::size_t>(block);
  return {batch.inputs.subspan(first, size), batch.targets.subspan(first, size),
          batch.positions.empty() ? std::span<Int>() : batch.positions.subspan(first, size)};
}

/// The window of tokens from `start` on; behind the text's end inputs are 0 and targets ignored.
template <class Int>
void fill_window(const TokenView& tokens, std::int64_t start, const BatchSpans<Int>& row) {
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    const std::int64_t target = start + static_cast<std::int64_t>(i) + 1;
    const bool there = target < tokens.size();
    row.inputs[i] = static_cast<Int>(there ? tokens[target - 1] : 0);
    row.targets[i] = static_cast<Int>(there && tokens.is_target(target) ? tokens[target] : kIgnoredTarget);
  }
}

/// Returns a number in [0, count) for (seed, epoch).
std::int64_t draw_below(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  const std::uint64_t word = draw(seed, epoch, kRounds, 0);
  return static_cast<std::int64_t>((word * static_cast<std::uint64_t>(count)) >> 32);
}

}  // namespace

BatchSampler::BatchSampler(std::int64_t token_count, const BatchOptions& options)
    : token_count_(token_count), options_(options) {
  REPRISE_CHECK(options.block_size > 0 && options.micro_batch_size > 0 && options.micro_steps > 0,
                "sizes of a batch must be positive");
  const std::int64_t block = options.block_size;
  if (token_count < block + 1) {
    throw UserError(fmt::format("the training text is shorter than a block: {} tokens needed (block_size + 1), {} there; use "
                                "more text or --block_size {} or less",
                                block + 1, token_count, std::max<std::int64_t>(token_count - 1, 1)));
  }
  windows_per_epoch_ = std::max<std::int64_t>(1, token_count / block - 1);
  largest_offset_ = std::min(block - 1, token_count - 1 - windows_per_epoch_ * block);
}

BatchSampler::BatchSampler(const DocumentPacking& packing, const BatchOptions& options)
    : packing_(&packing), options_(options), windows_per_epoch_(packing.row_count()) {
  REPRISE_CHECK(options.block_size == packing.block_size() && options.micro_batch_size > 0 && options.micro_steps > 0,
                "sizes of a batch must be positive, and the packing's");
  if (packing.row_count() == 0) throw UserError("the training text has no document of two tokens; use more text");
}

BatchSampler::Dealt BatchSampler::dealt(std::int64_t step, std::int64_t micro_step, std::int64_t row) const {
  const std::int64_t count = (step * options_.micro_steps + micro_step) * options_.micro_batch_size + row;
  const std::int64_t epoch = count / windows_per_epoch_;
  return {epoch, permute(count % windows_per_epoch_, windows_per_epoch_, options_.seed, epoch)};
}

std::int64_t BatchSampler::window_start(std::int64_t step, std::int64_t micro_step, std::int64_t row) const {
  REPRISE_CHECK(packing_ == nullptr, "a packing has no windows");
  const Dealt dealt_row = dealt(step, micro_step, row);
  return draw_below(largest_offset_ + 1, options_.seed, dealt_row.epoch) + dealt_row.window * options_.block_size;
}

template <class Int>
void BatchSampler::fill(std::int64_t step, std::int64_t micro_step, const TokenView& tokens, const BatchSpans<Int>& batch) const {
  const std::int64_t block = options_.block_size;
  const auto size = static_cast<std::size_t>(options_.micro_batch_size * block);
  REPRISE_CHECK(batch.inputs.size() == size && batch.targets.size() == size, "a batch is [micro_batch_size, block_size]");
  REPRISE_CHECK(batch.positions.size() == (packing_ != nullptr ? size : 0), "a packing has positions, windows have none");
  for (std::int64_t row = 0; row < options_.micro_batch_size; ++row) {
    const BatchSpans<Int> spans = row_of(batch, row, block);
    if (packing_ != nullptr) {
      packing_->fill(dealt(step, micro_step, row).window, tokens, spans.inputs, spans.targets, spans.positions);
    } else {
      REPRISE_CHECK(tokens.size() == token_count_, "the tokens are not those the sampler was made for");
      fill_window(tokens, window_start(step, micro_step, row), spans);
    }
  }
}

std::int64_t BatchSampler::kept_targets(std::int64_t step, const TokenView& tokens) const {
  const std::int64_t rows = options_.micro_batch_size * options_.micro_steps;
  if (packing_ == nullptr && !tokens.has_targets()) return rows * options_.block_size;
  std::int64_t kept = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (packing_ != nullptr) {
      kept += packing_->kept_targets(dealt(step, 0, row).window, tokens);
      continue;
    }
    const std::int64_t start = window_start(step, 0, row);
    for (std::int64_t t = 1; t <= options_.block_size; ++t) kept += tokens.is_target(start + t) ? 1 : 0;
  }
  return kept;
}

ValidationBatches::ValidationBatches(std::int64_t token_count, std::int64_t block_size, std::int64_t batch_size)
    : token_count_(token_count), block_size_(block_size), batch_size_(batch_size) {
  REPRISE_CHECK(block_size > 0 && batch_size > 0, "sizes of a batch must be positive");
  if (token_count < 2) {
    throw UserError(fmt::format("the validation text is too short: at least 2 tokens needed, {} there; give a larger "
                                "--val_data",
                                token_count));
  }
  const std::int64_t windows = (token_count - 1 + block_size - 1) / block_size;
  batch_count_ = (windows + batch_size - 1) / batch_size;
}

ValidationBatches::ValidationBatches(const DocumentPacking& packing, std::int64_t batch_size)
    : packing_(&packing), block_size_(packing.block_size()), batch_size_(batch_size) {
  REPRISE_CHECK(batch_size > 0, "sizes of a batch must be positive");
  if (packing.row_count() == 0) throw UserError("the validation text has no document of two tokens; give a larger --val_data");
  batch_count_ = (packing.row_count() + batch_size - 1) / batch_size;
}

template <class Int>
void ValidationBatches::fill(std::int64_t batch, const TokenView& tokens, const BatchSpans<Int>& spans) const {
  const std::int64_t size = batch_size_ * block_size_;
  REPRISE_CHECK(static_cast<std::int64_t>(spans.inputs.size()) == size && static_cast<std::int64_t>(spans.targets.size()) == size,
                "a batch is [batch_size, block_size]");
  REPRISE_CHECK(batch >= 0 && batch < batch_count_, "no such batch");
  for (std::int64_t i = 0; i < batch_size_; ++i) {
    const std::int64_t row = batch * batch_size_ + i;
    const BatchSpans<Int> row_spans = row_of(spans, i, block_size_);
    if (packing_ == nullptr) {
      REPRISE_CHECK(tokens.size() == token_count_, "the tokens are not those the batches were made for");
      fill_window(tokens, row * block_size_, row_spans);
    } else if (row < packing_->row_count()) {
      packing_->fill(row, tokens, row_spans.inputs, row_spans.targets, row_spans.positions);
    } else {
      std::fill(row_spans.inputs.begin(), row_spans.inputs.end(), Int{0});
      std::fill(row_spans.targets.begin(), row_spans.targets.end(), static_cast<Int>(kIgnoredTarget));
      std::iota(row_spans.positions.begin(), row_spans.positions.end(), Int{0});
    }
  }
}

template void BatchSampler::fill(std::int64_t, std::int64_t, const TokenView&, const BatchSpans<std::int32_t>&) const;
template void BatchSampler::fill(std::int64_t, std::int64_t, const TokenView&, const BatchSpans<std::int64_t>&) const;
template void ValidationBatches::fill(std::int64_t, const TokenView&, const BatchSpans<std::int32_t>&) const;
template void ValidationBatches::fill(std::int64_t, const TokenView&, const BatchSpans<std::int64_t>&) const;

}  // namespace reprise
