// SPDX-License-Identifier: Apache-2.0
// Draws the next token from a row of logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

struct SamplingOptions {
  double temperature = 0.8;  // divides the logits; 0 takes the likeliest
  std::int64_t top_k = 0;    // draw among the k likeliest; 0: all
  double top_p = 1;          // draw among the fewest likeliest whose probabilities reach p
  std::uint64_t seed = 0;
};

/// Draws tokens one after another. The draw of token i is Philox word i of the seed: same logits, same tokens.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options) : options_(options) {}

  /// Returns the token drawn for place `position` from `logits` [V]; ties go to the lower id. Only the first `vocabulary`
  /// entries count (the rest is padding). UserError when a logit is NaN, or all are minus infinity.
  std::int32_t draw(std::span<const float> logits, std::int64_t vocabulary, std::uint64_t position);

 private:
  SamplingOptions options_;
  std::vector<std::int32_t> order_;  // kept between draws
  std::vector<double> weights_;
};

}  // namespace reprise
