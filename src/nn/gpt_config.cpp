// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt_config.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace reprise {
namespace {

void require(bool holds, std::string_view what) {
  if (!holds) throw UserError(fmt::format("model config: {}", what));
}

}  // namespace

std::int64_t GptConfig::rope_n_elem() const {
  if (positions == Positions::learned) return 0;
  return static_cast<std::int64_t>(rotary_percentage * static_cast<double>(head_size));
}

double GptConfig::attention_scale(std::int64_t layer) const {
  const double scale = 1 / std::sqrt(attention_scores_scalar.value_or(static_cast<double>(head_size)));
  return scale_attn_by_inverse_layer_idx ? scale / static_cast<double>(layer + 1) : scale;
}

void validate(const GptConfig& config) {
  for (const auto& [name, value] : {std::pair{"n_layer", config.n_layer}, {"n_head", config.n_head}, {"n_embd", config.n_embd},
                                    {"n_query_groups", config.n_query_groups}, {"head_size", config.head_size},
                                    {"intermediate_size", config.intermediate_size}, {"block_size", config.block_size},
                                    {"vocab_size", config.vocab_size}, {"rope_condense_ratio", config.rope_condense_ratio}}) {
    require(value >= 1, fmt::format("{} must be at least 1, not {}", name, value));
  }
  require(config.padded_vocab_size >= config.vocab_size,
          fmt::format("padded_vocab_size must not be below vocab_size: {} < {}", config.padded_vocab_size, config.vocab_size));
  require(config.n_head % config.n_query_groups == 0,
          fmt::format("n_head must be a multiple of n_query_groups: {} and {}", config.n_head, config.n_query_groups));
  require(!config.shared_attention_norm || config.parallel_residual, "shared_attention_norm needs parallel_residual; set it");
  require(config.norm_eps > 0, fmt::format("norm_eps must be positive, not {}", config.norm_eps));
  require(config.rope_base > 0, fmt::format("rope_base must be positive, not {}", config.rope_base));
  const double rotary = config.rotary_percentage;
  require(rotary >= 0 && rotary <= 1, fmt::format("rotary_percentage must be between 0 and 1, not {}", rotary));
  require(config.rope_n_elem() != 1, "one rotary element per head cannot turn; change rotary_percentage");
  const RopeScaling& scaling = config.rope_scaling;
  require(scaling.kind == RopeScaling::Kind::none || scaling.factor > 0,
          fmt::format("the rope scaling factor must be positive, not {}", scaling.factor));
  require(scaling.kind != RopeScaling::Kind::llama3 || scaling.high_freq_factor > scaling.low_freq_factor,
          fmt::format("rope scaling needs high_freq_factor above low_freq_factor: {} and {}", scaling.high_freq_factor,
                      scaling.low_freq_factor));
  for (const double p : {config.embd_dropout, config.attn_dropout, config.resid_dropout}) {
    require(p >= 0 && p < 1, fmt::format("dropout must be in [0, 1), not {}", p));
  }
}

void override_size(GptConfig& config, std::optional<std::int64_t> n_layers, std::optional<std::int64_t> block_size) {
  if (n_layers) {
    require(*n_layers >= 1, fmt::format("n_layers must be at least 1, not {}", *n_layers));
    config.n_layer = *n_layers;
  }
  if (block_size) {
    require(*block_size >= 1, fmt::format("block_size must be at least 1, not {}", *block_size));
    require(*block_size <= config.block_size,
            fmt::format("block_size is over what {} can take; give at most {}, not {}", config.name, config.block_size, *block_size));
    config.block_size = *block_size;
  }
}

void fit_vocabulary(GptConfig& config, std::int64_t vocab_size) {
  if (config.vocab_follows_tokenizer) {
    require(vocab_size >= 1, fmt::format("the tokenizer has no tokens: {}", vocab_size));
    config.vocab_size = config.padded_vocab_size = vocab_size;
    return;
  }
  require(vocab_size <= config.padded_vocab_size,
          fmt::format("the tokenizer's vocabulary is larger than {}'s; use a smaller tokenizer or another model: {} > {}",
                      config.name, vocab_size, config.padded_vocab_size));
}

}  // namespace reprise
