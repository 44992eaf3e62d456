// SPDX-License-Identifier: Apache-2.0
// Named configurations: against the published hyper-parameters where they are at hand, and a few sizes that are well known.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "io/json_view.h"
#include "nn/gpt.h"
#include "nn/gpt_config.h"
#include "support/expect_error.h"
#include "support/reference_directory.h"

namespace reprise {
namespace {

TEST(NamedConfigs, PublishedParameterCounts) {
  EXPECT_EQ(parameter_count(named_config("gpt2")), 124439808);
  EXPECT_EQ(parameter_count(named_config("gpt2-medium")), 354823168);
  EXPECT_EQ(parameter_count(named_config("gpt2-large")), 774030080);
  EXPECT_EQ(parameter_count(named_config("gpt2-xl")), 1557611200);
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

TEST(NamedConfigs, AgreeWithThePublishedHyperParameters) {
  const std::filesystem::path file = std::filesystem::path("..") / "model_configs.json";
  REPRISE_NEEDS_REFERENCE(file);
  const Json all = read_json(test::reference_directory() / file);
  const std::vector<std::string_view> names = config_names();
  std::size_t compared = 0;
  for (const Json& model : all.find("models")->items()) {
    const std::string& name = model.find("name")->string();
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    ++compared;
    SCOPED_TRACE(name);
    const JsonView m(model, "model_configs.json");
    GptConfig c = named_config(name);
    EXPECT_EQ(c.block_size, m.at("block_size").integer());
    EXPECT_EQ(c.vocab_size, m.at("vocab_size").integer());
    EXPECT_EQ(c.padded_vocab_size, m.at("padded_vocab_size").integer());
    EXPECT_EQ(c.n_query_groups, m.at("n_query_groups").integer());
    EXPECT_EQ(c.norm_eps, m.at("norm_eps").number());
    EXPECT_EQ(c.rope_base, m.at("rope_base").number());
    EXPECT_EQ(c.rotary_percentage, m.at("rotary_percentage").number());
    EXPECT_EQ(c.rope_condense_ratio, m.at("rope_condense_ratio").integer());
    EXPECT_EQ(c.parallel_residual, m.at("parallel_residual").boolean());
    EXPECT_EQ(c.shared_attention_norm, m.at("shared_attention_norm").boolean());
    EXPECT_EQ(c.attn_bias, m.at("attn_bias").boolean());
    EXPECT_EQ(c.gelu_tanh, m.at("gelu_approximate").string() == "tanh");
    EXPECT_EQ(c.scale_embeddings, m.at("scale_embeddings").boolean());
    EXPECT_EQ(c.tied, m.at("tied").boolean());
    const auto rope = m.find("rope_adjustments");
    EXPECT_EQ(c.rope_scaling.kind, rope ? RopeScaling::Kind::llama3 : RopeScaling::Kind::none);
    EXPECT_EQ(c.rope_scaling.factor, rope ? rope->at("factor").number() : 1.0);
    c.tied = false;  // the published counts are of the untied model
    EXPECT_EQ(parameter_count(c), m.at("n_parameters").integer());
  }
  EXPECT_EQ(compared, 161u);
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
  EXPECT_USER_ERROR(validate(with([](GptConfig& c) { c.padded_vocab_size = 64; })), "padded_vocab_size must not be below vocab_size: 64 < 65");
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
}

}  // namespace
}  // namespace reprise
