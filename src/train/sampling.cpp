// SPDX-License-Identifier: Apache-2.0
#include "train/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"

namespace reprise {

std::int32_t Sampler::draw(std::span<const float> logits, std::int64_t vocabulary, std::uint64_t position) {
  const auto count = static_cast<std::size_t>(vocabulary);
  REPRISE_CHECK(count > 0 && count <= logits.size(), "a vocabulary wider than the logits");
  const auto nan = std::find_if(logits.begin(), logits.begin() + vocabulary, [](float x) { return std::isnan(x); });
  if (nan != logits.begin() + vocabulary) {
    throw UserError(fmt::format("the model gives NaN for token {}; its weights are broken, generate from an earlier checkpoint",
                                nan - logits.begin()));
  }
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.temperature == 0) return *std::min_element(order_.begin(), order_.end(), likelier);

  const std::size_t kept = options_.top_k > 0 ? std::min(count, static_cast<std::size_t>(options_.top_k)) : count;
  const bool ordered = kept < count || options_.top_p < 1;
  if (ordered) {
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(kept), order_.end(), likelier);
    order_.resize(kept);
  }
  const float top = ordered ? logits[static_cast<std::size_t>(order_.front())]
                            : *std::max_element(logits.begin(), logits.begin() + vocabulary);
  if (std::isinf(top) && top < 0) throw UserError("the model allows no token: every logit is minus infinity");

  weights_.resize(order_.size());
  double total = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const auto x = static_cast<double>(logits[static_cast<std::size_t>(order_[i])]);
    weights_[i] = std::exp((x - static_cast<double>(top)) / options_.temperature);
    total += weights_[i];
  }
  if (options_.top_p < 1) {
    double reached = 0;
    std::size_t needed = 0;
    while (needed < weights_.size() && reached < options_.top_p * total) reached += weights_[needed++];
    order_.resize(std::max<std::size_t>(needed, 1));
    total = reached;
  }
  const double wanted = (static_cast<double>(philox_word(options_.seed, position)) + 0.5) * 0x1p-32 * total;
  double sum = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    sum += weights_[i];
    if (wanted < sum) return order_[i];
  }
  return order_.back();
}

}  // namespace reprise
