// SPDX-License-Identifier: Apache-2.0
// config.json: every named model survives writing and reading; what is not supported is refused by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/log.h"
#include "nn/folder_weights.h"
#include "nn/gpt.h"
#include "nn/gpt_config_json.h"
#include "support/expect_error.h"
#include "support/figure_folder.h"
#include "support/reference_directory.h"
#include "support/temporary_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

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
    if (config.rope_condense_ratio == 8) {  // says the same in families' keys
      config.rope_condense_ratio = 1;
      config.rope_scaling.kind = RopeScaling::Kind::linear;
      config.rope_scaling.factor = 8;
    }
    EXPECT_EQ(back.config, config) << name;
    EXPECT_EQ(back.family, file.family) << name;
  }
}

TEST(GptConfigJson, NamedModelsAreOfTheFamilyTheyWerePublishedIn) {
  const auto type = [](std::string_view name) { return config_to_json(named_config(name)).json.find("model_type")->string(); };
  for (const auto& [name, family] : std::initializer_list<std::pair<const char*, const char*>>{
           {"gpt2", "gpt2"}, {"toy-gpt", "gpt2"}, {"Llama-3.1-8B", "llama"}, {"Llama-3.2-1B", "llama"}, {"LLaMA-2-7B-32K", "llama"},
           {"tiny-llama-1.1b", "llama"}, {"Qwen2.5-0.5B", "qwen2"}, {"pythia-160m", "gpt_neox"}, {"toy-neox", "gpt_neox"},
           {"stablelm-base-alpha-3b", "gpt_neox"}, {"stablelm-3b-4e1t", "stablelm"}, {"phi-2", "phi"}, {"phi-4", "phi3"},
           {"Gemma-2b", "gemma"}, {"falcon-7b", "falcon"}, {"falcon-40b", "falcon"}, {"Falcon3-1B-Base", "llama"}, {"OLMo-1B-hf", "olmo"},
           {"Mistral-7B-v0.3", "mistral"}}) {
    EXPECT_EQ(type(name), family) << name;
  }
}

TEST(GptConfigJson, ReadsAFolder) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "config.json", write_json(config_to_json(named_config("toy-neox")).json, 2));
  EXPECT_EQ(read_config(folder.path()).config.n_embd, 64);
  EXPECT_EQ(read_config(folder / "config.json").family, ModelFamily::gpt_neox);
}

TEST(GptConfigJson, RefusesByName) {
  EXPECT_USER_ERROR(toy_with("qk_layernorm_order", 1), "config.json: key \"qk_layernorm_order\" is not known and may change the model");
  EXPECT_USER_ERROR(toy_with("qk_layernorm_order", 1), "if it does not, give --ignore_config_keys qk_layernorm_order");
  EXPECT_USER_ERROR(toy_with("rms_norm_epps", 1e-5), "did you mean \"rms_norm_eps\"?");
  EXPECT_USER_ERROR(toy_with("model_type", "mamba"),
                    "config.json: model_type: \"mamba\" is not supported; one of: deepseek_v3, falcon, gemma");
  EXPECT_USER_ERROR(toy_with("hidden_act", "relu"), "config.json: hidden_act: \"relu\" is not supported; one of: silu, swish");
  EXPECT_USER_ERROR(toy_with("sliding_window", 128), "config.json: sliding_window: is not supported; only null");
  EXPECT_USER_ERROR(toy_with("attention_bias", true), "attention_bias without mlp_bias");
  EXPECT_USER_ERROR(toy_with("num_hidden_layers", 0), "config.json: model config: n_layer must be at least 1, not 0");
  EXPECT_USER_ERROR(toy_with("hidden_size", Json()), "config.json: key \"hidden_size\" is missing; add it");
  EXPECT_USER_ERROR(toy_with("hidden_size", "64"), "config.json: hidden_size: must be an integer");
  EXPECT_USER_ERROR(toy_with("rope_scaling", parse_json(R"({"rope_type": "dynamic", "factor": 4})", "x")),
                    "config.json: rope_scaling.rope_type: \"dynamic\" is not supported; one of: default, linear, llama3, yarn, longrope");
  EXPECT_USER_ERROR(toy_with("rope_scaling", parse_json(R"({"rope_type": "linear", "type": "llama3", "factor": 4})", "x")),
                    "rope_scaling.type: \"llama3\" contradicts rope_type; remove one");
  EXPECT_USER_ERROR(toy_with("rope_scaling", parse_json(R"({"rope_type": "linear", "factor": 4, "beta_fast": 1})", "x")),
                    "key \"beta_fast\" is not known");
  EXPECT_USER_ERROR(toy_with("layer_types", parse_json(R"(["sliding_attention", "full_attention"])", "x")),
                    "layer_types[0]: needs a sliding_window, and none is on");
  EXPECT_USER_ERROR(toy_with("layer_types", parse_json(R"(["full_attention", "chunked_attention"])", "x")),
                    "layer_types[1]: \"chunked_attention\" is not supported; one of: full_attention, sliding_attention");
  EXPECT_USER_ERROR(toy_with("layer_types", parse_json(R"(["full_attention"])", "x")),
                    "layer_types: must have an entry for each of the 2 layers, not 1");
  EXPECT_USER_ERROR(toy_with("quantization_config", parse_json(R"({"bits": 4})", "x")),
                    "config.json: quantization_config: is not supported; only null");
  EXPECT_USER_ERROR(toy_with("is_encoder_decoder", true), "is_encoder_decoder: true is not supported; only false");
  EXPECT_USER_ERROR(toy_with("pruned_heads", parse_json(R"({"0": [1]})", "x")), "pruned_heads: is not supported; only an empty list");
  EXPECT_USER_ERROR(parsed(R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2,
                               "scale_attn_weights": false})"),
                    "config.json: scale_attn_weights: false is not supported; only true");
  EXPECT_USER_ERROR(parsed(R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2,
                               "add_cross_attention": true})"),
                    "config.json: add_cross_attention: true is not supported; only false");
}

TEST(GptConfigJson, KeysThatShapeNothing) {
  const GptConfig plain = config_from_json(config_to_json(named_config("toy-llama")).json, "config.json").config;
  for (const auto& [key, value] : {std::pair<const char*, Json>{"torch_dtype", "bfloat16"}, {"eos_token_id", Json::array({1, 2})},
                                   {"use_cache", false}, {"attention_dropout", 0.1}, {"quantization_config", Json()},
                                   {"layer_types", Json()}, {"pretraining_tp", 2}, {"pruned_heads", Json::object()}, {"temperature", 0.7},
                                   {"rope_scaling", Json::object({{"rope_type", "default"}})}}) {
    EXPECT_EQ(toy_with(key, value).config, plain) << key;
  }
}

TEST(GptConfigJson, UnknownKeysCanBeIgnoredByName) {
  Json json = config_to_json(named_config("toy-llama")).json;
  const GptConfig plain = config_from_json(json, "config.json").config;
  json.set("my_note", "x");
  json.set("rope_scaling", Json::object({{"rope_type", "default"}, {"my_other_note", 1}}));
  const std::vector<std::string> both{"my_note", "my_other_note"};
  EXPECT_EQ(config_from_json(json, "config.json", both).config, plain);
  const std::vector<std::string> one{"my_note"};
  EXPECT_USER_ERROR(config_from_json(json, "config.json", one), "config.json: rope_scaling: key \"my_other_note\" is not known");
  const std::vector<std::string> read{"my_note", "my_other_note", "rms_norm_eps"};
  EXPECT_USER_ERROR(config_from_json(json, "config.json", read),
                    "key \"rms_norm_eps\" shapes the model and cannot be ignored; leave it out of --ignore_config_keys");
  std::vector<std::string> warnings;
  const LogCallback before = set_log_callback([&](LogLevel, const std::string& message) { warnings.push_back(message); });
  const std::vector<std::string> absent{"my_note", "my_other_note", "nowhere"};
  EXPECT_EQ(config_from_json(json, "config.json", absent).config, plain);
  set_log_callback(before);
  EXPECT_EQ(warnings, std::vector<std::string>{"config.json: no key to ignore of this name: nowhere"});
}

/// Folders of every family.
std::vector<std::string> reference_folders() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::reference_directory() / "hf")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(GptConfigJson, HuggingFaceFilesOldAndNewAgree) {
  REPRISE_NEEDS_REFERENCE("hf");
  for (const std::string& model : reference_folders()) {
    SCOPED_TRACE(model);
    const std::filesystem::path folder = test::reference_directory() / "hf" / model;
    const FolderConfig published = read_config(folder / "config.json");
    const FolderConfig newer = read_config(folder / "config_v5.json");
    EXPECT_EQ(published.config, newer.config);
    EXPECT_EQ(published.family, newer.family);
    // What is written for the family says the same again.
    const ConfigFile written = config_to_json(published.config, published.family);
    EXPECT_EQ(written.family, published.family);
    EXPECT_EQ(config_from_json(written.json, "written").config, published.config);
  }
}

TEST(FolderWeights, EveryRowOnce) {
  for (const char* name : {"toy-gpt", "toy-llama", "toy-neox", "baby-llama", "phi-2", "falcon-7b", "falcon-40b", "phi-4", "Qwen2.5-0.5B"}) {
    SCOPED_TRACE(name);
    GptConfig config = named_config(name);
    config.n_layer = 2;
    const WeightTable table = folder_weights(config, config_to_json(config).family);
    std::set<std::string> file_names;
    std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> rows;
    for (const FolderTensor& tensor : table.tensors) {
      EXPECT_TRUE(file_names.insert(tensor.name).second) << tensor.name;
      std::int64_t count = 0;
      for (const ParameterRows& part : tensor.rows) {
        rows[part.parameter].emplace_back(part.first, part.last);
        count += part.last - part.first;
      }
      EXPECT_EQ(count, SourceTensor({tensor.name, "", {}, tensor.shape}).rows()) << tensor.name;
    }
    for (const NamedParameter& parameter : Gpt(config).parameters()) {
      auto& parts = rows[parameter.name];
      std::sort(parts.begin(), parts.end());
      std::int64_t reached = 0;
      for (const auto& [first, last] : parts) {
        EXPECT_EQ(first, reached) << parameter.name;
        reached = last;
      }
      EXPECT_EQ(reached, SourceTensor({"", "", {}, parameter.shape.extents()}).rows()) << parameter.name;
    }
  }
}

const FolderTensor& tensor_of(const WeightTable& table, std::string_view name) {
  const auto found =
      std::find_if(table.tensors.begin(), table.tensors.end(), [&](const FolderTensor& tensor) { return tensor.name == name; });
  if (found == table.tensors.end()) throw std::runtime_error("no tensor " + std::string(name));
  return *found;
}

TEST(FolderWeights, NamesOfPublishedFiles) {
  const WeightTable gpt2 = folder_weights(named_config("gpt2"), ModelFamily::gpt2);
  EXPECT_EQ(tensor_of(gpt2, "transformer.h.0.ln_1.weight").other_names, std::vector<std::string>{"h.0.ln_1.weight"});
  EXPECT_EQ(tensor_of(gpt2, "transformer.wte.weight").other_names, (std::vector<std::string>{"wte.weight", "lm_head.weight"}));
  EXPECT_TRUE(gpt2.is_derived("h.3.attn.bias"));
  EXPECT_FALSE(gpt2.is_derived("h.3.attn.c_attn.bias"));
  const WeightTable tied = folder_weights(named_config("Llama-3.2-1B"), ModelFamily::llama);
  EXPECT_TRUE(tied.is_derived("lm_head.weight"));
  const WeightTable untied = folder_weights(named_config("Llama-3-8B"), ModelFamily::llama);
  EXPECT_FALSE(untied.is_derived("lm_head.weight"));
  EXPECT_TRUE(untied.is_derived("model.layers.0.self_attn.rotary_emb.inv_freq"));
  EXPECT_EQ(tensor_of(untied, "model.layers.31.self_attn.k_proj.weight").shape, (std::vector<std::int64_t>{1024, 4096}));
}

TEST(FolderWeights, FusedTensors) {
  GptConfig c = named_config("toy-llama");
  const WeightTable phi3 = folder_weights(c, ModelFamily::phi3);
  const FolderTensor& both = tensor_of(phi3, "model.layers.1.mlp.gate_up_proj.weight");
  EXPECT_EQ(both.shape, (std::vector<std::int64_t>{352, 64}));
  EXPECT_EQ(both.rows,
            (std::vector<ParameterRows>{{"transformer.h.1.mlp.fc_1.weight", 0, 176}, {"transformer.h.1.mlp.fc_2.weight", 0, 176}}));
  // Four heads of 16 and two groups: rows of queries 0-63, keys 64-95, values 96-127.
  c = named_config("toy-neox");
  c.n_query_groups = 2;
  c.shared_attention_norm = true;
  const WeightTable falcon = folder_weights(c, ModelFamily::falcon);
  const std::string qkv = "transformer.h.0.attn.qkv.weight";
  EXPECT_EQ(tensor_of(falcon, "transformer.h.0.self_attention.query_key_value.weight").rows,
            (std::vector<ParameterRows>{{qkv, 0, 32}, {qkv, 64, 80}, {qkv, 96, 112}, {qkv, 32, 64}, {qkv, 80, 96}, {qkv, 112, 128}}));
  EXPECT_USER_ERROR(folder_weights(named_config("toy-gpt"), ModelFamily::llama),
                    "a folder of llama cannot hold this model: it has no name for transformer.wpe.weight");
}

void replay(const std::string& text) {
  const std::vector<std::uint8_t> exact(text.begin(), text.end());  // of its own size, so that a sanitizer sees a byte too far
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

TEST(GptConfigJson, FuzzCorpus) {
  std::vector<std::string> corpus{"", "{}", "[]", R"({"model_type": 1})", R"({"model_type": "llama"})", R"({"litgpt": {}})"};
  std::set<ModelFamily> families;
  for (const char* name : {"gpt2", "pythia-160m", "Llama-3.2-1B", "Qwen2.5-0.5B", "Mistral-7B-v0.3", "Gemma-2b", "phi-2", "phi-4",
                           "falcon-7b", "falcon-40b", "OLMo-1B-hf", "stablelm-3b-4e1t"}) {
    const ConfigFile file = config_to_json(named_config(name));
    families.insert(file.family);
    corpus.push_back(write_json(file.json, kCompact));
  }
  EXPECT_EQ(families.size(), 11u);
  for (const char* scaling :
       {R"({"rope_type": "linear", "factor": 2})", R"({"type": "yarn", "factor": 4, "beta_slow": 2})",
        R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [2], "original_max_position_embeddings": 8})",
        R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64})"}) {
    Json json = config_to_json(named_config("toy-llama")).json;
    json.set("rope_scaling", parse_json(scaling, "scaling"));
    corpus.push_back(write_json(json, kCompact));
  }
  const std::vector<std::string> values{"null",  "0",    "-1",    "1",  "2.5", "9223372036854775807", "-9223372036854775808",
                                        "1e308", "true", "\"x\"", "[]", "{}"};
  for (const std::string& text : corpus) {
    replay(text);
    for (std::size_t cut = 0; cut < text.size(); cut += 7) replay(text.substr(0, cut));
    // Every member with other values.
    for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
      const std::size_t end = text.find_first_of(",}", colon);
      if (end == std::string::npos) break;
      for (const std::string& value : values) replay(text.substr(0, colon + 1) + value + text.substr(end));
    }
  }
}

}  // namespace
}  // namespace reprise
