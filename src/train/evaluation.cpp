// SPDX-License-Identifier: Apache-2.0
#include "train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "train/batch_sampler.h"

namespace reprise {

double DocumentScore::loss() const {
  return tokens > 0 ? loss_sum / static_cast<double>(tokens) : std::numeric_limits<double>::quiet_NaN();
}

double DocumentScore::perplexity() const { return std::exp(loss()); }

double DocumentScore::bits_per_byte() const {
  return bytes > 0 ? loss_sum / std::numbers::ln2 / static_cast<double>(bytes) : std::numeric_limits<double>::quiet_NaN();
}

void DocumentScore::add(const DocumentScore& other) {
  tokens += other.tokens;
  bytes += other.bytes;
  loss_sum += other.loss_sum;
}

DocumentScorer::DocumentScorer(Engine& engine, const ScoringOptions& options, Sink take)
    : program_(engine.program("eval")), options_(options), take_(std::move(take)) {
  REPRISE_CHECK(options.stride >= 1 && options.stride <= options.block_size, "a stride lies in [1, block_size]");
  tokens_ = program_.input_as<std::int64_t>(program_.input_index("tokens"));
  targets_ = program_.input_as<std::int64_t>(program_.input_index("targets"));
  positions_ = program_.input_as<std::int64_t>(program_.input_index("positions"));
  const auto size = static_cast<std::size_t>(options.rows * options.block_size);
  REPRISE_CHECK(tokens_.size() == size, "the program's batch is [rows, block_size]");
  const Trace& trace = program_.trace();
  losses_output_ = 1;
  REPRISE_CHECK(trace.outputs.size() > losses_output_, "the program gives token losses");
  wide_ = trace.type(trace.outputs[losses_output_]).dtype == DType::float64;
}

void DocumentScorer::begin(std::string path, std::int64_t line) {
  REPRISE_CHECK(!open_, "a document inside another");
  documents_.push_back({std::move(path), line, 0, 0, 0});
  window_.clear();
  scored_.clear();
  first_new_ = 1;
  open_ = true;
}

void DocumentScorer::add(std::span<const std::int32_t> ids, bool scored) {
  for (const std::int32_t id : ids) add_one(id, scored);
}

void DocumentScorer::add_one(std::int32_t id, bool scored) {
  window_.push_back(id);
  scored_.push_back(scored ? 1 : 0);
  const auto block = static_cast<std::size_t>(options_.block_size);
  if (window_.size() < block + 1) return;
  place_window(block);
  window_.erase(window_.begin(), window_.begin() + options_.stride);
  scored_.erase(scored_.begin(), scored_.begin() + options_.stride);
  first_new_ = window_.size();
}

void DocumentScorer::end(std::int64_t bytes) {
  REPRISE_CHECK(open_, "no document is open");
  if (window_.size() > first_new_) place_window(window_.size() - 1);
  documents_.back().bytes = bytes;
  open_ = false;
}

void DocumentScorer::place_window(std::size_t positions) {
  const auto first = scored_.begin() + static_cast<std::ptrdiff_t>(first_new_);
  if (std::find(first, scored_.begin() + static_cast<std::ptrdiff_t>(positions) + 1, 1) ==
      scored_.begin() + static_cast<std::ptrdiff_t>(positions) + 1) {
    return;  // nothing of it is scored
  }
  const auto length = static_cast<std::int64_t>(positions);
  if (column_ + length > options_.block_size) {
    ++row_;
    column_ = 0;
  }
  if (row_ == options_.rows) run();
  if (batch_.empty()) {
    std::fill(tokens_.begin(), tokens_.end(), 0);
    std::fill(targets_.begin(), targets_.end(), kIgnoredTarget);
    for (std::int64_t row = 0; row < options_.rows; ++row) {
      const auto of_row =
          positions_.subspan(static_cast<std::size_t>(row * options_.block_size), static_cast<std::size_t>(options_.block_size));
      std::iota(of_row.begin(), of_row.end(), 0);
    }
  }
  const auto at = static_cast<std::size_t>(row_ * options_.block_size + column_);
  for (std::size_t t = 0; t < positions; ++t) {
    tokens_[at + t] = window_[t];
    positions_[at + t] = static_cast<std::int64_t>(t);
    if (t + 1 < first_new_ || scored_[t + 1] == 0) continue;
    targets_[at + t] = window_[t + 1];
    batch_.push_back({at + t, given_ + documents_.size() - 1});
  }
  column_ += length;
  // What is behind it is another segment until a window is put there.
  const auto rest = positions_.subspan(at + positions, static_cast<std::size_t>(options_.block_size - column_));
  std::iota(rest.begin(), rest.end(), 0);
}

void DocumentScorer::run() {
  row_ = 0;
  column_ = 0;
  if (!batch_.empty()) {
    program_.run();
    for (const Scored& scored : batch_) {
      DocumentScore& document = documents_[scored.document - given_];
      document.loss_sum += wide_ ? program_.output_as<double>(losses_output_)[scored.place]
                                 : static_cast<double>(program_.output_as<float>(losses_output_)[scored.place]);
      ++document.tokens;
    }
    batch_.clear();
  }
  give_finished();
}

void DocumentScorer::give_finished() {
  while (documents_.size() > (open_ ? 1u : 0u)) {
    take_(documents_.front());
    documents_.pop_front();
    ++given_;
  }
}

void DocumentScorer::finish() {
  REPRISE_CHECK(!open_, "a document is still open");
  run();
}

}  // namespace reprise
