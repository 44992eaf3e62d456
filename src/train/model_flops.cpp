// SPDX-License-Identifier: Apache-2.0
#include "train/model_flops.h"

#include "nn/gpt.h"

namespace reprise {

double training_flops_per_token(const GptConfig& config, std::int64_t length) {
  const double attention = 12.0 * static_cast<double>(config.n_layer * config.n_head * config.head_size) * static_cast<double>(length);
  return 6.0 * static_cast<double>(parameter_count(config)) + attention;
}

}  // namespace reprise
