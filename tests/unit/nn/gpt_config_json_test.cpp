// SPDX-License-Identifier: Apache-2.0
// config.json: every named model survives writing and reading; what is not supported is refused by name.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "nn/folder_weights.h"
#include "nn/gpt.h"
#include "nn/gpt_config_json.h"
#include "support/expect_error.h"
#include "support/reference_directory.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

FolderConfig parsed(std::string_view text) { return config_from_json(parse_json(text, "config.json"), "config.json"); }

/// A config.json of the toy Llama with one member set.
FolderConfig toy_with(std::string_view key, Json value) {
  Json json = config_to_json(named_config("toy-llama")).json;
  json.set(key, std::move(value));
  return config_from_json(json, "config.json");
}

TEST(GptConfigJson, EveryNamedModelReadsBack) {
  for (const std::string_view name : config_names()) {
    GptConfig config = named_config(name);
    const ConfigFile file = config_to_json(config);
    const FolderConfig back = config_from_json(parse_json(write_json(file.json, 2), "config.json"), "config.json");
    config.vocab_follows_tokenizer = false;
    EXPECT_EQ(back.config, config) << name;
    EXPECT_EQ(back.names, file.names) << name;
  }
}

TEST(GptConfigJson, FamiliesAreUsedWhereTheyFit) {
  const auto type = [](std::string_view name) { return config_to_json(named_config(name)).json.find("model_type")->string(); };
  EXPECT_EQ(type("gpt2"), "gpt2");
  EXPECT_EQ(type("Llama-3.1-8B"), "llama");
  EXPECT_EQ(type("Qwen2.5-0.5B"), "qwen2");
  EXPECT_EQ(type("pythia-160m"), "gpt_neox");
  EXPECT_EQ(type("phi-2"), "reprise");
  EXPECT_EQ(type("Gemma-2b"), "reprise");
}

TEST(GptConfigJson, ReadsAFolder) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "config.json", write_json(config_to_json(named_config("toy-neox")).json, 2));
  EXPECT_EQ(read_config(folder.path()).config.n_embd, 64);
  EXPECT_EQ(read_config(folder / "config.json").names, FolderNames::gpt_neox);
}

TEST(GptConfigJson, RefusesByName) {
  EXPECT_USER_ERROR(toy_with("qk_layernorm_order", 1), "config.json: key \"qk_layernorm_order\" is not known and may change the model");
  EXPECT_USER_ERROR(toy_with("rms_norm_epps", 1e-5), "did you mean \"rms_norm_eps\"?");
  EXPECT_USER_ERROR(toy_with("model_type", "mamba"), "config.json: model_type: \"mamba\" is not supported yet; one of: gpt2, gpt_neox, llama");
  EXPECT_USER_ERROR(toy_with("hidden_act", "relu"), "config.json: hidden_act: \"relu\" is not supported; one of: silu");
  EXPECT_USER_ERROR(toy_with("sliding_window", 128), "config.json: sliding_window: is not supported yet");
  EXPECT_USER_ERROR(toy_with("attention_dropout", 0.1), "config.json: attention_dropout: is not supported yet");
  EXPECT_USER_ERROR(toy_with("attention_bias", true), "attention_bias without mlp_bias");
  EXPECT_USER_ERROR(toy_with("num_hidden_layers", 0), "config.json: model config: n_layer must be at least 1, not 0");
  EXPECT_USER_ERROR(toy_with("hidden_size", Json()), "config.json: key \"hidden_size\" is missing; add it");
  EXPECT_USER_ERROR(toy_with("hidden_size", "64"), "config.json: hidden_size: must be an integer");
  EXPECT_USER_ERROR(toy_with("rope_scaling", parse_json(R"({"rope_type": "yarn", "factor": 4})", "x")),
                    "config.json: rope_scaling.rope_type: \"yarn\" is not supported; one of: default, linear, llama3");
  EXPECT_USER_ERROR(toy_with("rope_scaling", parse_json(R"({"rope_type": "linear", "factor": 4, "beta_fast": 1})", "x")),
                    "key \"beta_fast\" is not known");
  EXPECT_USER_ERROR(toy_with("layer_types", parse_json(R"(["sliding_attention"])", "x")), "layer_types[0]: is not supported yet");
  EXPECT_USER_ERROR(parsed(R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2,
                               "scale_attn_weights": false})"),
                    "config.json: scale_attn_weights: false is not supported yet");
  EXPECT_USER_ERROR(parsed(R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2,
                               "add_cross_attention": true})"),
                    "config.json: add_cross_attention: true is not supported yet");
}

TEST(GptConfigJson, HuggingFaceFilesOldAndNewAgree) {
  for (const char* model : {"llama", "llama-tied", "llama-bias", "llama3", "qwen2", "gpt-neox"}) {
    const std::filesystem::path folder = std::filesystem::path("hf") / model;
    REPRISE_NEEDS_REFERENCE(folder);
    SCOPED_TRACE(model);
    EXPECT_EQ(read_config(test::reference_directory() / folder / "config.json").config,
              read_config(test::reference_directory() / folder / "config_v5.json").config);
  }
}

TEST(FolderWeights, EveryRowOnce) {
  for (const char* name : {"toy-gpt", "toy-llama", "toy-neox", "baby-llama"}) {
    SCOPED_TRACE(name);
    const GptConfig config = named_config(name);
    const FolderNames names = config_to_json(config).names;
    std::set<std::string> file_names;
    std::map<std::string, std::set<std::int64_t>> rows;
    for (const FolderTensor& tensor : folder_tensors(config, names)) {
      EXPECT_TRUE(file_names.insert(tensor.name).second) << tensor.name;
      std::int64_t count = 0;
      for (const auto& [first, last] : tensor.rows) {
        for (std::int64_t row = first; row < last; ++row) EXPECT_TRUE(rows[tensor.parameter].insert(row).second) << tensor.name;
        count += last - first;
      }
      EXPECT_EQ(count, tensor.shape.at(0)) << tensor.name;
    }
    for (const NamedParameter& parameter : Gpt(config).parameters()) {
      EXPECT_EQ(static_cast<std::int64_t>(rows[parameter.name].size()), parameter.shape[0]) << parameter.name;
    }
  }
}

TEST(FolderWeights, NamesOfPublishedFiles) {
  const GptConfig gpt2 = named_config("gpt2");
  EXPECT_EQ(alternative_names(gpt2, FolderNames::own, "transformer.h.0.ln_1.weight"), std::vector<std::string>{"h.0.ln_1.weight"});
  EXPECT_EQ(alternative_names(gpt2, FolderNames::own, "transformer.wte.weight"),
            (std::vector<std::string>{"lm_head.weight", "wte.weight"}));
  EXPECT_TRUE(is_derived_tensor(gpt2, FolderNames::own, "h.3.attn.bias"));
  EXPECT_FALSE(is_derived_tensor(gpt2, FolderNames::own, "h.3.attn.c_attn.bias"));
  EXPECT_TRUE(is_derived_tensor(named_config("Llama-3.2-1B"), FolderNames::llama, "lm_head.weight"));
  EXPECT_FALSE(is_derived_tensor(named_config("Llama-3-8B"), FolderNames::llama, "lm_head.weight"));
  EXPECT_TRUE(is_derived_tensor(named_config("Llama-3-8B"), FolderNames::llama, "model.layers.0.self_attn.rotary_emb.inv_freq"));
}

}  // namespace
}  // namespace reprise
