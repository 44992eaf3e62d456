// SPDX-License-Identifier: Apache-2.0
// `reprise models`: the table of models known by name, or one model's structure and cost.
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/standard_streams.h"
#include "cli/units.h"
#include "io/file_write.h"
#include "io/json.h"
#include "nn/gpt.h"
#include "nn/gpt_config_json.h"
#include "train/model_flops.h"

namespace reprise {
namespace {

std::int64_t parameters_when(GptConfig config, bool tied) {
  config.tied = tied;
  return parameter_count(config);
}

Json describe(const GptConfig& config) {
  const std::int64_t parameters = parameter_count(config);
  return Json::object({{"schema_version", 1},
                       {"name", config.name},
                       {"n_layers", config.n_layer},
                       {"n_embd", config.n_embd},
                       {"n_head", config.n_head},
                       {"n_query_groups", config.n_query_groups},
                       {"head_size", config.head_size},
                       {"intermediate_size", config.intermediate_size},
                       {"block_size", config.block_size},
                       {"vocab_size", config.vocab_size},
                       {"padded_vocab_size", config.padded_vocab_size},
                       {"tied", config.tied},
                       {"n_parameters", parameters},
                       {"n_parameters_tied", parameters_when(config, true)},
                       {"n_parameters_untied", parameters_when(config, false)},
                       {"n_parameters_active", active_parameter_count(config)},
                       {"parameter_bytes_float32", parameters * 4},
                       {"parameter_bytes_bfloat16", parameters * 2},
                       {"training_state_bytes_float32", parameters * 12},
                       {"flops_per_token", training_flops_per_token(config, config.block_size)}});
}

std::string row(std::string_view name, const std::string& text) { return fmt::format("{:<22}{}\n", name, text); }

/// "13 of 26 layers"
std::string layers_with(const GptConfig& config, const std::function<bool(std::int64_t)>& has) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) count += has(layer) ? 1 : 0;
  return count == config.n_layer ? "every layer" : fmt::format("{} of {} layers", count, config.n_layer);
}

/// Attention and experts, as far as they are not the plain ones.
std::string structure_text(const GptConfig& config) {
  std::string text;
  if (config.latent_attention) {
    const auto& latent = *config.latent_attention;
    text += row("latent attention", fmt::format("keys of {}, of which {} turn, values of {}, from {}", config.key_width(),
                                                latent.qk_rope_head_dim, config.value_width(), latent.kv_lora_rank));
  }
  if (config.sliding_window_size) {
    const std::string layers = layers_with(config, [&](std::int64_t layer) { return config.window(layer) > 0; });
    text += row("window", fmt::format("{} keys in {}", *config.sliding_window_size, layers));
  }
  if (config.n_expert > 0) {
    const std::string shared = config.n_shared_expert > 0 ? fmt::format(" and {} shared", config.n_shared_expert) : "";
    const std::string layers = layers_with(config, [&](std::int64_t layer) { return config.has_experts(layer); });
    text += row("experts", fmt::format("{} of width {}, {}{} for a token, in {}", config.n_expert, config.expert_width(),
                                       config.n_expert_per_token, shared, layers));
    text += row("parameters of a token", format_count(active_parameter_count(config)));
  }
  return text;
}

std::string model_text(const GptConfig& config) {
  const std::int64_t parameters = parameter_count(config);
  std::string text = row("name", config.name);
  text += row("layers", fmt::format("{}", config.n_layer));
  text += row("width", fmt::format("{}, MLP {}", config.n_embd, config.intermediate_size));
  text += row("heads", fmt::format("{} of {}, {} for keys and values", config.n_head, config.head_size, config.n_query_groups));
  text += row("block size", fmt::format("{}", config.block_size));
  text += row("vocabulary", config.vocab_follows_tokenizer ? "the tokenizer's"
                                                           : fmt::format("{}, padded to {}", config.vocab_size, config.padded_vocab_size));
  text += row("embeddings", config.tied ? "tied" : "not tied");
  text += row("parameters", fmt::format("{} ({}; tied {}, untied {})", format_count(parameters), parameters,
                                        format_count(parameters_when(config, true)), format_count(parameters_when(config, false))));
  text += structure_text(config);
  text += row("weights", fmt::format("{} in float32, {} in bfloat16", format_bytes(parameters * 4), format_bytes(parameters * 2)));
  text += row("weights and moments", fmt::format("{} in float32", format_bytes(parameters * 12)));
  text += row("training", fmt::format("{:.3g} GFLOP a token at block size {}",
                                      training_flops_per_token(config, config.block_size) / 1e9, config.block_size));
  return text + fmt::format("\nconfig.json\n{}\n", write_json(config_to_json(config).json, 2));
}

std::string table_text(const std::vector<GptConfig>& configs) {
  std::string text = fmt::format("{:<36}{:>7}{:>7}{:>7}{:>9}{:>10}{:>10}\n", "name", "layers", "width", "block", "vocab", "tied", "untied");
  for (const GptConfig& config : configs) {
    const auto mark = [&](bool tied) {
      return fmt::format("{}{}", format_count(parameters_when(config, tied)), config.tied == tied ? "*" : " ");
    };
    text += fmt::format("{:<36}{:>7}{:>7}{:>7}{:>9}{:>10}{:>10}\n", config.name, config.n_layer, config.n_embd, config.block_size,
                        config.vocab_size, mark(true), mark(false));
  }
  return text + "\nparameters with tied and with separate embeddings; * as published\n";
}

}  // namespace

int run_models(const ResolvedOptions& options) {
  const bool json_only = options.has("json") && options.get_text("json") == "-";
  Json json;
  if (options.has("model")) {
    const GptConfig config = find_model(options.get_text("model"), ignored_config_keys(options)).config;
    json = describe(config);
    if (!json_only) print_output(model_text(config));
  } else {
    std::vector<GptConfig> configs;
    Json list = Json::array();
    for (const std::string_view name : config_names()) {
      configs.push_back(named_config(name));
      list.push_back(describe(configs.back()));
    }
    json = Json::object({{"schema_version", 1}, {"models", std::move(list)}});
    if (!json_only) print_output(table_text(configs));
  }
  if (options.has("json")) write_text_file(options.get_text("json"), write_json(json, 2) + "\n");
  return 0;
}

}  // namespace reprise
