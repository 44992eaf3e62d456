// SPDX-License-Identifier: Apache-2.0
// Named configurations: against the published hyper-parameters where they are at hand, and a few sizes that are well known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "io/file_write.h"
#include "io/json.h"
#include "nn/gpt.h"
#include "nn/gpt_config.h"
#include "nn/litgpt_config.h"
#include "nn/own_config.h"
#include "support/expect_error.h"
#include "support/reference_directory.h"
#include "unit/nn/published_parameters.h"
#include "support/source_directory.h"

namespace reprise {
namespace {

TEST(NamedConfigs, PublishedParameterCounts) {
  EXPECT_EQ(parameter_count(named_config("gpt2")), 124439808);
  EXPECT_EQ(parameter_count(named_config("gpt2-medium")), 354823168);
  EXPECT_EQ(parameter_count(named_config("gpt2-large")), 774030080);
  EXPECT_EQ(parameter_count(named_config("gpt2-xl")), 1557611200);
  EXPECT_EQ(parameter_count(named_config("gpt3-175b")), 174604259328);  // "174,600M"
  EXPECT_EQ(parameter_count(named_config("pythia-160m")), 162322944);
  EXPECT_EQ(parameter_count(named_config("Llama-2-7b-hf")), 6738415616);
  EXPECT_EQ(parameter_count(named_config("Llama-3-8B")), 8030261248);
  EXPECT_EQ(parameter_count(named_config("SmolLM2-135M")), 134515008);
}

TEST(NamedConfigs, NamesAreUniqueAndValid) {
  const std::vector<std::string_view> names = config_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  for (const std::string_view name : names) {
    EXPECT_EQ(named_config(name).name, name);
    EXPECT_NO_THROW(validate(named_config(name))) << name;
  }
}

/// The entry of the file of published hyper-parameters, as LitGPT's configuration.
GptConfig published(const Json& entry) {
  Json fields = Json::object();
  for (const JsonMember& member : entry.members()) {
    if (member.key != "n_parameters" && member.key != "tied") fields.set(member.key, member.value);
  }
  const Json root = Json::object({{"litgpt", fields}, {"derived", Json::object({{"tied_embeddings", *entry.find("tied")}})}});
  return read_litgpt_config(JsonView(root, "model_configs.json"));
}

TEST(NamedConfigs, AreThePublishedHyperParameters) {
  const std::filesystem::path file = std::filesystem::path("..") / "model_configs.json";
  REPRISE_NEEDS_REFERENCE(file);
  const Json all = read_json(test::reference_directory() / file);
  std::size_t compared = 0;
  for (const Json& entry : all.find("models")->items()) {
    const std::string& name = entry.find("name")->string();
    EXPECT_TRUE(named_config(name) == published(entry)) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 210u);
}

TEST(NamedConfigs, HaveThePublishedParameterCounts) {
  std::size_t counted = 0;
  for (const auto& [parameters, names] : test::kPublishedParameters) {
    for (std::string_view rest = names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      GptConfig config = named_config(rest.substr(0, end));
      config.tied = false;
      EXPECT_EQ(parameter_count(config), parameters) << config.name;
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++counted;
    }
  }
  EXPECT_EQ(counted, 210u);
}

TEST(NamedConfigs, ActiveParametersOfAMixture) {
  EXPECT_EQ(active_parameter_count(named_config("Llama-3-8B")), parameter_count(named_config("Llama-3-8B")));
  const GptConfig mixtral = named_config("Mixtral-8x7B-v0.1");  // 6 of 8 experts of three matrices rest, in 32 layers
  EXPECT_EQ(parameter_count(mixtral) - active_parameter_count(mixtral), std::int64_t{32} * 6 * 3 * 4096 * 14336);
}

TEST(NamedConfigs, TheDocumentHasEveryNameAndField) {
  const std::string text = read_text_file(test::source_directory() / "docs/models.md");
  for (const std::string_view name : config_names()) EXPECT_NE(text.find(fmt::format("`{}`", name)), std::string::npos) << name;
  const Json own = write_own_config(GptConfig());
  for (const JsonMember& field : own.members()) {
    if (field.key == "model_type" || field.key == "format_version") continue;
    EXPECT_NE(text.find(fmt::format("| `{}` |", field.key)), std::string::npos) << field.key;
  }
}

TEST(NamedConfigs, UnknownNameSuggestsTheNearest) {
  EXPECT_USER_ERROR(named_config("pythia-106m"), "unknown model \"pythia-106m\"; did you mean \"pythia-160m\"?");
}

TEST(NamedConfigs, Overrides) {
  GptConfig config = named_config("gpt2");
  override_size(config, 3, 256);
  EXPECT_EQ(config.n_layer, 3);
  EXPECT_EQ(config.block_size, 256);
  EXPECT_USER_ERROR(override_size(config, {}, 257), "block_size is over what gpt2 can take; give at most 256, not 257");
  EXPECT_USER_ERROR(override_size(config, {}, 0), "block_size must be at least 1, not 0");
  EXPECT_USER_ERROR(override_size(config, 0, {}), "n_layers must be at least 1, not 0");
}

TEST(NamedConfigs, VocabularyOfATokenizer) {
  GptConfig baby = named_config("baby-gpt");
  fit_vocabulary(baby, 1000);
  EXPECT_EQ(baby.vocab_size, 1000);
  EXPECT_EQ(baby.padded_vocab_size, 1000);
  EXPECT_USER_ERROR(fit_vocabulary(baby, 0), "the tokenizer has no tokens");
  GptConfig published = named_config("pythia-160m");
  fit_vocabulary(published, 50304);
  EXPECT_EQ(published.vocab_size, 50254);
  EXPECT_USER_ERROR(fit_vocabulary(published, 50305),
                    "the tokenizer's vocabulary is larger than pythia-160m's; use a smaller tokenizer or another model: 50305 > 50304");
}

TEST(GptConfig, RefusesWhatDoesNotFit) {
  const auto with = [](auto change) {
    GptConfig config = named_config("toy-llama");
    change(config);
    return config;
  };
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_layer = 0; })), "model config: n_layer must be at least 1, not 0");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_query_groups = 3; })), "n_head must be a multiple of n_query_groups: 4 and 3");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.padded_vocab_size = 64; })),
                    "padded_vocab_size must not be below vocab_size: 64 < 65");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.shared_attention_norm = true; })), "shared_attention_norm needs parallel_residual");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.norm_eps = 0; })), "norm_eps must be positive");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.rope_base = -1; })), "rope_base must be positive");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.rotary_percentage = 2; })), "rotary_percentage must be between 0 and 1");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.rotary_percentage = 0.0625; })), "one rotary element per head cannot turn");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.rope_scaling = {RopeScaling::Kind::linear, 0, 1, 4, 8192}; })),
                    "the rope scaling factor must be positive");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.rope_scaling = {RopeScaling::Kind::llama3, 8, 4, 4, 8192}; })),
                    "rope scaling needs high_freq_factor above low_freq_factor");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.set_dropout(1); })), "dropout must be in [0, 1), not 1");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.sliding_window_size = 0; })), "sliding_window_size must be at least 1, not 0");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.final_logit_softcapping = 0; })), "final_logit_softcapping must be positive, not 0");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.rotary_percentage = 0.1875, c.rope_interleave = true; })),
                    "rope_interleave needs an even number of rotary elements, not 3");
}

TEST(GptConfig, RefusesRopeScalingsThatDoNotFit) {
  const auto with = [](const RopeScaling& scaling) {
    GptConfig config = named_config("toy-llama");
    config.rope_scaling = scaling;
    return config;
  };
  using Kind = RopeScaling::Kind;
  EXPECT_USER_ERROR(validate(with({.kind = Kind::yarn, .factor = 4, .beta_fast = 1, .beta_slow = 2})),
                    "rope scaling needs beta_fast not below a positive beta_slow: 1 and 2");
  EXPECT_USER_ERROR(validate(with({.kind = Kind::yarn_litgpt, .factor = 4, .mscale = 1.0})),
                    "LitGPT's YaRN takes mscale together with mscale_all_dim");
  EXPECT_USER_ERROR(validate(with({.kind = Kind::longrope, .short_factor = {1, 2}})),
                    "rope scaling needs one short_factor for each turning pair of a head: 8, not 2");
  GptConfig flat = with({.kind = Kind::yarn, .factor = 4});
  flat.rope_base = 1;
  EXPECT_USER_ERROR(validate(flat), "YaRN needs a rope_base above 1, not 1");
}

TEST(GptConfig, RefusesLatentAttentionThatDoesNotFit) {
  const auto with = [](auto change) {
    GptConfig config = named_config("toy-llama");
    config.n_query_groups = config.n_head;
    config.latent_attention = LatentAttention{24, 16, 8, 12, 10, 1e-6};
    change(config);
    return config;
  };
  EXPECT_NO_THROW(validate(with([](GptConfig&) {})));
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.latent_attention->kv_lora_rank = 0; })), "kv_lora_rank must be at least 1, not 0");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.latent_attention->q_lora_rank = -1; })), "q_lora_rank must not be negative: -1");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.latent_attention->qk_rope_head_dim = 3; })),
                    "qk_rope_head_dim must be even and at least 2, not 3");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_query_groups = 1; })),
                    "latent attention needs as many n_query_groups as heads: 1 and 4");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.norm_qk = true; })),
                    "latent attention goes with rotary positions, litgpt names and no norm_qk");
}

TEST(GptConfig, RefusesExpertsThatDoNotFit) {
  const auto with = [](auto change) {
    GptConfig config = named_config("toy-llama");
    config.mlp_class = MlpClass::llama_moe;
    config.n_expert = 6;
    config.n_expert_per_token = 2;
    config.n_expert_groups = 3;
    config.n_topk_groups = 2;
    config.n_topk_scores_per_group = 1;
    change(config);
    return config;
  };
  EXPECT_NO_THROW(validate(with([](GptConfig&) {})));
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_expert_per_token = 7; })),
                    "n_expert_per_token must be between 1 and n_expert 6, not 7");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_shared_expert = -1; })),
                    "n_shared_expert and first_k_dense_replace must not be negative");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_expert_groups = 4; })), "n_expert must be a multiple of n_expert_groups: 6 and 4");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_topk_groups = 4; })),
                    "n_topk_groups must be between 1 and n_expert_groups 3, not 4");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_topk_scores_per_group = 3; })),
                    "n_topk_scores_per_group must be between 1 and a group's 2 experts, not 3");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.n_expert_groups = 0, c.norm_topk_prob = true; })),
                    "norm_topk_prob is of the grouped router");
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.weight_names = WeightNames::gpt2; })), "experts go with litgpt names");
}

}  // namespace
}  // namespace reprise
