// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "nn/rope.h"

namespace reprise {
namespace {

void require(bool holds, std::string_view what) {
  if (!holds) throw UserError(fmt::format("model config: {}", what));
}

void require_positive(std::string_view name, double value) {
  require(value > 0, fmt::format("{} must be positive, not {}", name, value));
}

void require_count(std::string_view name, std::int64_t value) {
  require(value >= 1, fmt::format("{} must be at least 1, not {}", name, value));
}

void validate_rope_scaling(const GptConfig& config) {
  const RopeScaling& scaling = config.rope_scaling;
  const std::int64_t pairs = (config.rope_n_elem() + 1) / 2;
  switch (scaling.kind) {
    case RopeScaling::Kind::none: return;
    case RopeScaling::Kind::linear: break;
    case RopeScaling::Kind::llama3:
      require(scaling.high_freq_factor > scaling.low_freq_factor,
              fmt::format("rope scaling needs high_freq_factor above low_freq_factor: {} and {}", scaling.high_freq_factor,
                          scaling.low_freq_factor));
      break;
    case RopeScaling::Kind::yarn:
    case RopeScaling::Kind::yarn_litgpt:
      require(config.rope_base > 1, fmt::format("YaRN needs a rope_base above 1, not {}", config.rope_base));
      require(scaling.kind == RopeScaling::Kind::yarn || !scaling.mscale || scaling.mscale_all_dim,
              "LitGPT's YaRN takes mscale together with mscale_all_dim");
      require(scaling.beta_slow > 0 && scaling.beta_fast >= scaling.beta_slow,
              fmt::format("rope scaling needs beta_fast not below a positive beta_slow: {} and {}", scaling.beta_fast, scaling.beta_slow));
      break;
    case RopeScaling::Kind::longrope:
      for (const auto& [name, factors] : {std::pair{"short_factor", &scaling.short_factor}, {"long_factor", &scaling.long_factor}}) {
        require(static_cast<std::int64_t>(factors->size()) == pairs,
                fmt::format("rope scaling needs one {} for each turning pair of a head: {}, not {}", name, pairs, factors->size()));
        for (const double factor : *factors) require_positive(name, factor);
      }
      break;
  }
  require(scaling.factor > 0, fmt::format("the rope scaling factor must be positive, not {}", scaling.factor));
  require_count("original_max_seq_len", scaling.original_max_seq_len);
}

void validate_latent_attention(const GptConfig& config) {
  const LatentAttention& latent = *config.latent_attention;
  require_count("kv_lora_rank", latent.kv_lora_rank);
  require_count("qk_nope_head_dim", latent.qk_nope_head_dim);
  require_count("v_head_dim", latent.v_head_dim);
  require(latent.q_lora_rank >= 0, fmt::format("q_lora_rank must not be negative: {}", latent.q_lora_rank));
  require(latent.qk_rope_head_dim >= 2 && latent.qk_rope_head_dim % 2 == 0,
          fmt::format("qk_rope_head_dim must be even and at least 2, not {}", latent.qk_rope_head_dim));
  require(config.n_query_groups == config.n_head,
          fmt::format("latent attention needs as many n_query_groups as heads: {} and {}", config.n_query_groups, config.n_head));
  require(config.positions == Positions::rotary && config.weight_names == WeightNames::litgpt && !config.norm_qk,
          "latent attention goes with rotary positions, litgpt names and no norm_qk");
}

void validate_experts(const GptConfig& config) {
  require_count("n_expert", config.n_expert);
  require(config.n_expert_per_token >= 1 && config.n_expert_per_token <= config.n_expert,
          fmt::format("n_expert_per_token must be between 1 and n_expert {}, not {}", config.n_expert, config.n_expert_per_token));
  require(config.moe_intermediate_size >= 0 && config.n_shared_expert >= 0 && config.first_k_dense_replace >= 0,
          "moe_intermediate_size, n_shared_expert and first_k_dense_replace must not be negative");
  require(config.weight_names == WeightNames::litgpt, "experts go with litgpt names");
  if (config.n_expert_groups == 0) {
    require(!config.norm_topk_prob, "norm_topk_prob is of the grouped router; the plain one's weights add up to 1 anyway");
    return;
  }
  require(config.n_expert_groups >= 1 && config.n_expert % config.n_expert_groups == 0,
          fmt::format("n_expert must be a multiple of n_expert_groups: {} and {}", config.n_expert, config.n_expert_groups));
  const std::int64_t in_group = config.n_expert / config.n_expert_groups;
  require(config.n_topk_groups >= 1 && config.n_topk_groups <= config.n_expert_groups,
          fmt::format("n_topk_groups must be between 1 and n_expert_groups {}, not {}", config.n_expert_groups, config.n_topk_groups));
  require(
      config.n_topk_scores_per_group >= 1 && config.n_topk_scores_per_group <= in_group,
      fmt::format("n_topk_scores_per_group must be between 1 and a group's {} experts, not {}", in_group, config.n_topk_scores_per_group));
}

}  // namespace

LayerPattern::LayerPattern(std::vector<bool> layers) : period_(std::move(layers)) {
  require(!period_.empty(), "a list of layers must not be empty");
  for (std::size_t period = 1; period < period_.size(); ++period) {
    if (!std::equal(period_.begin() + static_cast<std::ptrdiff_t>(period), period_.end(), period_.begin())) continue;
    period_.resize(period);
    break;
  }
}

std::int64_t GptConfig::rope_n_elem() const {
  if (positions == Positions::learned) return 0;
  if (latent_attention) return latent_attention->qk_rope_head_dim;
  return static_cast<std::int64_t>(rotary_percentage * static_cast<double>(head_size));
}

std::int64_t GptConfig::key_width() const {
  return latent_attention ? latent_attention->qk_nope_head_dim + latent_attention->qk_rope_head_dim : head_size;
}

std::int64_t GptConfig::value_width() const { return latent_attention ? latent_attention->v_head_dim : head_size; }

double GptConfig::attention_scale(std::int64_t layer) const {
  const double scale = rope_score_factor(*this) / std::sqrt(attention_scores_scalar.value_or(static_cast<double>(key_width())));
  return scale_attn_by_inverse_layer_idx ? scale / static_cast<double>(layer + 1) : scale;
}

std::int64_t GptConfig::window(std::int64_t layer) const {
  return sliding_window_size && sliding_window_indices[layer] ? *sliding_window_size : 0;
}

void validate(const GptConfig& config) {
  for (const auto& [name, value] : {std::pair{"n_layer", config.n_layer}, {"n_head", config.n_head}, {"n_embd", config.n_embd},
                                    {"n_query_groups", config.n_query_groups}, {"head_size", config.head_size},
                                    {"intermediate_size", config.intermediate_size}, {"block_size", config.block_size},
                                    {"vocab_size", config.vocab_size}, {"rope_condense_ratio", config.rope_condense_ratio},
                                    {"sliding_window_size", config.sliding_window_size.value_or(1)}}) {
    require_count(name, value);
  }
  require(config.n_layer <= kMostLayers, fmt::format("n_layer must be at most {}, not {}", kMostLayers, config.n_layer));
  require(config.padded_vocab_size >= config.vocab_size,
          fmt::format("padded_vocab_size must not be below vocab_size: {} < {}", config.padded_vocab_size, config.vocab_size));
  require(config.n_head % config.n_query_groups == 0,
          fmt::format("n_head must be a multiple of n_query_groups: {} and {}", config.n_head, config.n_query_groups));
  require(!config.shared_attention_norm || config.parallel_residual, "shared_attention_norm needs parallel_residual; set it");
  require_positive("norm_eps", config.norm_eps);
  require_positive("rope_base", config.rope_base);
  require_positive("rope_local_base_freq", config.rope_local_base_freq.value_or(1));
  require_positive("attention_scores_scalar", config.attention_scores_scalar.value_or(1));
  require_positive("attention_logit_softcapping", config.attention_logit_softcapping.value_or(1));
  require_positive("final_logit_softcapping", config.final_logit_softcapping.value_or(1));
  const double rotary = config.rotary_percentage;
  require(rotary >= 0 && rotary <= 1, fmt::format("rotary_percentage must be between 0 and 1, not {}", rotary));
  require(config.rope_n_elem() != 1, "one rotary element per head cannot turn; change rotary_percentage");
  require(!config.rope_interleave || config.rope_n_elem() % 2 == 0,
          fmt::format("rope_interleave needs an even number of rotary elements, not {}", config.rope_n_elem()));
  validate_rope_scaling(config);
  if (config.latent_attention) validate_latent_attention(config);
  if (config.mlp_class == MlpClass::llama_moe) validate_experts(config);
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
