// SPDX-License-Identifier: Apache-2.0
// The keyed bijection, and copying windows of tokens into batches.
#include "train/batch_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

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

std::int64_t BatchSampler::window_start(std::int64_t step, std::int64_t micro_step, std::int64_t row) const {
  const std::int64_t dealt = (step * options_.micro_steps + micro_step) * options_.micro_batch_size + row;
  const std::int64_t epoch = dealt / windows_per_epoch_;
  const std::int64_t window = permute(dealt % windows_per_epoch_, windows_per_epoch_, options_.seed, epoch);
  return draw_below(largest_offset_ + 1, options_.seed, epoch) + window * options_.block_size;
}

template <class Int>
void BatchSampler::fill(std::int64_t step, std::int64_t micro_step, const TokenView& tokens, std::span<Int> inputs,
                        std::span<Int> targets) const {
  const std::int64_t block = options_.block_size;
  const auto size = static_cast<std::size_t>(options_.micro_batch_size * block);
  REPRISE_CHECK(inputs.size() == size && targets.size() == size, "a batch is [micro_batch_size, block_size]");
  REPRISE_CHECK(tokens.size() == token_count_, "the tokens are not those the sampler was made for");
  for (std::int64_t row = 0; row < options_.micro_batch_size; ++row) {
    const std::int64_t start = window_start(step, micro_step, row);
    for (std::int64_t t = 0; t < block; ++t) {
      const auto at = static_cast<std::size_t>(row * block + t);
      inputs[at] = static_cast<Int>(tokens[start + t]);
      targets[at] = static_cast<Int>(tokens[start + t + 1]);
    }
  }
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

template <class Int>
void ValidationBatches::fill(std::int64_t batch, const TokenView& tokens, std::span<Int> inputs,
                             std::span<Int> targets) const {
  const std::int64_t size = batch_size_ * block_size_;
  REPRISE_CHECK(static_cast<std::int64_t>(inputs.size()) == size && static_cast<std::int64_t>(targets.size()) == size,
                "a batch is [batch_size, block_size]");
  REPRISE_CHECK(tokens.size() == token_count_, "the tokens are not those the batches were made for");
  REPRISE_CHECK(batch >= 0 && batch < batch_count_, "no such batch");
  const std::int64_t start = batch * size;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool there = start + i + 1 < token_count_;
    inputs[static_cast<std::size_t>(i)] = static_cast<Int>(there ? tokens[start + i] : 0);
    targets[static_cast<std::size_t>(i)] = static_cast<Int>(there ? tokens[start + i + 1] : kIgnoredTarget);
  }
}

template void BatchSampler::fill(std::int64_t, std::int64_t, const TokenView&, std::span<std::int32_t>,
                                 std::span<std::int32_t>) const;
template void BatchSampler::fill(std::int64_t, std::int64_t, const TokenView&, std::span<std::int64_t>,
                                 std::span<std::int64_t>) const;
template void ValidationBatches::fill(std::int64_t, const TokenView&, std::span<std::int32_t>, std::span<std::int32_t>) const;
template void ValidationBatches::fill(std::int64_t, const TokenView&, std::span<std::int64_t>, std::span<std::int64_t>) const;

}  // namespace reprise
