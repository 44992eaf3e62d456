// SPDX-License-Identifier: Apache-2.0
#include "nn/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reprise {
namespace {

/// base^(-2i/n) for each turning pair.
std::vector<double> plain_frequencies(double base, std::int64_t n) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < n; i += 2) frequencies.push_back(1 / std::pow(base, static_cast<double>(i) / static_cast<double>(n)));
  return frequencies;
}

/// Divides f by factor, but for the share `kept` of it.
double stretched(double f, double factor, double kept) { return (1 - kept) * f / factor + kept * f; }

double llama3_kept(const RopeScaling& scaling, double f) {
  const double turns = static_cast<double>(scaling.original_max_seq_len) * f / (2 * std::numbers::pi);
  const double ramp = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return std::clamp(ramp, 0.0, 1.0);
}

/// YaRN's ramp over pairs: 0 for those that turn more than beta_fast times within the original length, 1 for those that turn
/// less than beta_slow times (Peng et al., 2023, section 3.2, over dimensions as in its published code).
class YarnRamp {
 public:
  YarnRamp(const RopeScaling& scaling, double base, std::int64_t n) {
    const auto pair_turning = [&](double turns) {
      const double wavelength = static_cast<double>(scaling.original_max_seq_len) / (turns * 2 * std::numbers::pi);
      return static_cast<double>(n) * std::log(wavelength) / (2 * std::log(base));
    };
    low_ = pair_turning(scaling.beta_fast);
    high_ = pair_turning(scaling.beta_slow);
    if (scaling.truncate) low_ = std::floor(low_), high_ = std::ceil(high_);
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, static_cast<double>(n - 1));
    if (low_ == high_) high_ += 0.001;
  }
  double operator()(std::size_t pair) const { return std::clamp((static_cast<double>(pair) - low_) / (high_ - low_), 0.0, 1.0); }

 private:
  double low_ = 0;
  double high_ = 0;
};

double yarn_mscale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

RopeTables make_tables(const std::vector<double>& frequencies, std::int64_t n_elem, std::int64_t length, double condense, double factor) {
  RopeTables tables{length, n_elem, {}, {}};
  const auto columns = static_cast<std::size_t>(n_elem);
  tables.cos.reserve(static_cast<std::size_t>(length) * columns);
  tables.sin.reserve(static_cast<std::size_t>(length) * columns);
  for (std::int64_t t = 0; t < length; ++t) {
    const double position = static_cast<double>(t) / condense;
    for (std::size_t j = 0; j < columns; ++j) {
      const double angle = position * frequencies[j % frequencies.size()];
      tables.cos.push_back(std::cos(angle) * factor);
      tables.sin.push_back(std::sin(angle) * factor);
    }
  }
  return tables;
}

}  // namespace

std::vector<double> rope_frequencies(const GptConfig& config, std::int64_t length) {
  const std::int64_t n = config.rope_n_elem();
  const RopeScaling& scaling = config.rope_scaling;
  std::vector<double> frequencies = plain_frequencies(config.rope_base, n);
  const auto change = [&](auto&& changed) {
    for (std::size_t i = 0; i < frequencies.size(); ++i) frequencies[i] = changed(frequencies[i], i);
  };
  switch (scaling.kind) {
    case RopeScaling::Kind::none: break;
    case RopeScaling::Kind::linear: change([&](double f, std::size_t) { return f / scaling.factor; }); break;
    case RopeScaling::Kind::llama3:
      change([&](double f, std::size_t) { return stretched(f, scaling.factor, llama3_kept(scaling, f)); });
      break;
    case RopeScaling::Kind::yarn:
    case RopeScaling::Kind::yarn_litgpt: {
      const YarnRamp ramp(scaling, config.rope_base, n);
      const bool reversed = scaling.kind == RopeScaling::Kind::yarn_litgpt;
      change([&](double f, std::size_t i) { return stretched(f, scaling.factor, reversed ? ramp(i) : 1 - ramp(i)); });
      break;
    }
    case RopeScaling::Kind::longrope: {
      const std::vector<double>& divisors = length <= scaling.original_max_seq_len ? scaling.short_factor : scaling.long_factor;
      change([&](double f, std::size_t i) { return f / divisors[i]; });
      break;
    }
  }
  return frequencies;
}

double rope_attention_factor(const RopeScaling& scaling) {
  if (scaling.attention_factor) return *scaling.attention_factor;
  const double factor = scaling.factor;
  switch (scaling.kind) {
    case RopeScaling::Kind::yarn:
      if (scaling.mscale && scaling.mscale_all_dim) {
        return yarn_mscale(factor, *scaling.mscale) / yarn_mscale(factor, *scaling.mscale_all_dim);
      }
      return yarn_mscale(factor, 1);
    case RopeScaling::Kind::yarn_litgpt:
      if (!scaling.mscale_all_dim) return 1;
      if (!scaling.mscale) return yarn_mscale(factor, *scaling.mscale_all_dim);
      return yarn_mscale(factor, *scaling.mscale) / yarn_mscale(factor, *scaling.mscale_all_dim);
    case RopeScaling::Kind::longrope:
      return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(scaling.original_max_seq_len)));
    default: return 1;
  }
}

double rope_score_factor(const GptConfig& config) {
  const RopeScaling& scaling = config.rope_scaling;
  const bool applies =
      scaling.kind == RopeScaling::Kind::yarn_litgpt || (scaling.kind == RopeScaling::Kind::yarn && config.latent_attention);
  if (!applies || !scaling.mscale_all_dim) return 1;
  const double mscale = yarn_mscale(scaling.factor, *scaling.mscale_all_dim);
  return mscale * mscale;
}

RopeTables rope_tables(const GptConfig& config, std::int64_t length) {
  return make_tables(rope_frequencies(config, length), config.rope_n_elem(), length, static_cast<double>(config.rope_condense_ratio),
                     rope_attention_factor(config.rope_scaling));
}

RopeTables local_rope_tables(const GptConfig& config, std::int64_t length) {
  if (!config.rope_local_base_freq) return {};
  return make_tables(plain_frequencies(*config.rope_local_base_freq, config.rope_n_elem()), config.rope_n_elem(), length,
                     static_cast<double>(config.rope_condense_ratio), 1);
}

}  // namespace reprise
