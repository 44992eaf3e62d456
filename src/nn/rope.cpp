// SPDX-License-Identifier: Apache-2.0
#include "nn/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reprise {

std::vector<double> rope_frequencies(const GptConfig& config) {
  const std::int64_t n = config.rope_n_elem();
  const RopeScaling& scaling = config.rope_scaling;
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < n; i += 2) {
    double f = 1 / std::pow(config.rope_base, static_cast<double>(i) / static_cast<double>(n));
    if (scaling.kind == RopeScaling::Kind::linear) f /= scaling.factor;
    if (scaling.kind == RopeScaling::Kind::llama3) {
      const double turns = static_cast<double>(scaling.original_max_seq_len) * f / (2 * std::numbers::pi);
      const double ramp = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
      const double kept = std::clamp(ramp, 0.0, 1.0);
      f = (1 - kept) * f / scaling.factor + kept * f;
    }
    frequencies.push_back(f);
  }
  return frequencies;
}

RopeTables rope_tables(const GptConfig& config, std::int64_t length) {
  RopeTables tables{length, config.rope_n_elem(), {}, {}};
  const std::vector<double> frequencies = rope_frequencies(config);
  const auto columns = static_cast<std::size_t>(tables.n_elem);
  tables.cos.reserve(static_cast<std::size_t>(length) * columns);
  tables.sin.reserve(static_cast<std::size_t>(length) * columns);
  for (std::int64_t t = 0; t < length; ++t) {
    const double position = static_cast<double>(t) / static_cast<double>(config.rope_condense_ratio);
    for (std::size_t j = 0; j < columns; ++j) {
      const double angle = position * frequencies[j % frequencies.size()];
      tables.cos.push_back(std::cos(angle));
      tables.sin.push_back(std::sin(angle));
    }
  }
  return tables;
}

}  // namespace reprise
