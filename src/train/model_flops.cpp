// SPDX-License-Identifier: Apache-2.0
#include "train/model_flops.h"

#include <algorithm>

#include "nn/gpt.h"

namespace reprise {

double training_flops_per_token(const GptConfig& config, std::int64_t length) {
  const double widths = static_cast<double>(config.n_head * (config.key_width() + config.value_width()));
  double attention = 0;
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) {
    const std::int64_t window = config.window(layer);
    attention += 6.0 * widths * static_cast<double>(window > 0 ? std::min(window, length) : length);
  }
  return 6.0 * static_cast<double>(active_parameter_count(config)) + attention;
}

}  // namespace reprise
