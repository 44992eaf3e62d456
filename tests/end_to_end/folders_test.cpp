// SPDX-License-Identifier: Apache-2.0
// Model folders by the program: runs and checkpoints exported, folders trained on and generated from, what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "io/file_write.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "support/run_program.h"
#include "support/sample_text.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

class Folders : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory;
    put_file(*folder_ / "text.txt", sample_text(200));
    const ProgramResult run = reprise_run({"train", "--data", at("text.txt"), "--out", at("run"), "toy-llama", "--max_steps", "6",
                                           "--save_interval", "3", "--micro_batch_size", "2", "--block_size", "32", "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string at(const std::string& name) { return *folder_ / name; }
  static std::string text_of(const std::string& model, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"generate", model, "--prompt", "the ", "--max_new_tokens", "30", "--temperature", "0", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = reprise_run(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }

  static TemporaryDirectory* folder_;
};

TemporaryDirectory* Folders::folder_ = nullptr;

TEST_F(Folders, ARunIsAFolderOfItsFamily) {
  const Json config = read_json(at("run/model/config.json"));
  EXPECT_EQ(config.find("model_type")->string(), "llama");
  EXPECT_EQ(config.find("architectures")->items().at(0).string(), "LlamaForCausalLM");
  EXPECT_EQ(config.find("torch_dtype")->string(), "float32");
  const SafetensorsFile file = SafetensorsFile::open(at("run/model/model.safetensors"));
  EXPECT_NE(file.find("model.layers.1.self_attn.k_proj.weight"), nullptr);
}

TEST_F(Folders, ExportsARun) {
  const ProgramResult exported = reprise_run({"export", at("run"), "--out", at("plain")});
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_NE(exported.out.find("llama of "), std::string::npos) << exported.out;
  EXPECT_NE(exported.out.find("in 1 file: " + at("plain")), std::string::npos) << exported.out;
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json"}) {
    EXPECT_EQ(get_file(at("plain/") + name), get_file(at("run/model/") + name)) << name;
  }
  EXPECT_EQ(text_of(at("plain")), text_of(at("run")));
}

TEST_F(Folders, ExportsTypesAndShards) {
  const ProgramResult exported =
      reprise_run({"export", at("run"), "--out", at("small"), "--dtype", "bfloat16", "--max_shard_size", "60kB"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_FALSE(fs::exists(at("small/model.safetensors")));
  const Json index = read_json(at("small/model.safetensors.index.json"));
  const std::string shard = index.find("weight_map")->find("model.norm.weight")->string();
  const SafetensorsFile file = SafetensorsFile::open(at("small/" + shard));
  EXPECT_EQ(file.find("model.norm.weight")->dtype, DType::bfloat16);
  EXPECT_EQ(read_json(at("small/config.json")).find("torch_dtype")->string(), "bfloat16");
  EXPECT_FALSE(text_of(at("small")).empty());
  // And back: what was rounded stays, the files are one again.
  ASSERT_EQ(reprise_run({"export", at("small"), "--out", at("wide"), "--dtype", "float32", "--max_shard_size", "1GB"}).status, 0);
  EXPECT_EQ(text_of(at("wide")), text_of(at("small")));
  EXPECT_TRUE(fs::exists(at("wide/model.safetensors")));
}

TEST_F(Folders, ExportsACheckpoint) {
  const ProgramResult exported = reprise_run({"export", at("run/step-3"), "--out", at("third")});
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_NE(get_file(at("third/model.safetensors")), get_file(at("run/model/model.safetensors")));
  EXPECT_FALSE(text_of(at("third")).empty());
  ASSERT_EQ(reprise_run({"export", at("run/latest/"), "--out", at("last")}).status, 0);
  EXPECT_EQ(get_file(at("last/model.safetensors")), get_file(at("run/model/model.safetensors")));
}

TEST_F(Folders, WhatIsThereIsNotReplacedUnasked) {
  ASSERT_EQ(reprise_run({"export", at("run"), "--out", at("there")}).status, 0);
  expect_refusal({"export", at("run"), "--out", at("there")},
                 "the folder holds a model; choose another --out, or replace it with --overwrite");
  EXPECT_EQ(reprise_run({"export", at("run"), "--out", at("there"), "--overwrite"}).status, 0);
  expect_refusal({"export", at("run"), "--out", at("run"), "--overwrite"},
                 "the folder is not empty and no model folder, so it is left alone");
  fs::create_directory(at("mine"));
  put_file(at("mine/letter.txt"), "dear");
  expect_refusal({"export", at("run"), "--out", at("mine"), "--overwrite"},
                 "the folder is not empty and no model folder, so it is left alone");
  expect_refusal({"export", at("run"), "--out", at("text.txt")}, "out is a file; choose another folder");
  expect_refusal({"export", at("run")}, "export needs --out DIR");
  expect_refusal({"export", at("nowhere"), "--out", at("x")}, "there is no such folder; give a run or a model folder");
}

TEST_F(Folders, TrainingOnKeepsTheFolderAsItWas) {
  ASSERT_EQ(reprise_run({"export", at("run"), "--out", at("origin"), "--dtype", "float16", "--max_shard_size", "60kB"}).status, 0);
  put_file(at("origin/generation_config.json"), "{\"eos_token_id\": 3}");
  put_file(at("origin/tokenizer_config.json"), "{\"kept\": true}");
  const ProgramResult tuned = reprise_run({"train", "--data", at("text.txt"), "--out", at("tuned"), "--init_from", at("origin"),
                                           "--max_steps", "2", "--micro_batch_size", "2", "--block_size", "16", "--quiet"});
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  for (const char* name :
       {"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "model.safetensors.index.json"}) {
    EXPECT_EQ(get_file(at("tuned/model/") + name), get_file(at("origin/") + name)) << name;
  }
  EXPECT_EQ(read_json(at("tuned/model/config.json")).find("max_position_embeddings")->integer(), 32);
  ASSERT_EQ(reprise_run({"train", "--resume", at("tuned"), "--max_steps", "3", "--quiet"}).status, 0);
  EXPECT_EQ(get_file(at("tuned/model/config.json")), get_file(at("origin/config.json")));
  EXPECT_EQ(get_file(at("tuned/model/generation_config.json")), get_file(at("origin/generation_config.json")));
  // The checkpoint is whole where the folder's float16 is not.
  ASSERT_EQ(reprise_run({"export", at("tuned"), "--out", at("whole"), "--dtype", "float32", "--max_shard_size", "1GB"}).status, 0);
  const SafetensorsFile exported = SafetensorsFile::open(at("whole/model.safetensors"));
  const SafetensorsFile checkpoint = SafetensorsFile::open(at("tuned/latest/model.safetensors"));
  const auto bytes = [](const SafetensorsTensor& tensor) { return std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end()); };
  EXPECT_EQ(bytes(*exported.find("model.norm.weight")), bytes(*checkpoint.find("transformer.ln_f.weight")));
}

TEST_F(Folders, UnknownKeys) {
  ASSERT_EQ(reprise_run({"export", at("run"), "--out", at("noted")}).status, 0);
  Json config = read_json(at("noted/config.json"));
  config.set("house_note", "x");
  put_file(at("noted/config.json"), write_json(config));
  const std::string phrase =
      "key \"house_note\" is not known and may change the model; if it does not, give --ignore_config_keys house_note";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"generate", at("noted"), "--prompt", "the "},
                                                {"models", at("noted")},
                                                {"trace", at("noted")},
                                                {"bench", at("noted")},
                                                {"export", at("noted"), "--out", at("x")},
                                                {"train", "--data", at("text.txt"), "--out", at("x"), "--init_from", at("noted")}}) {
    expect_refusal(words, phrase);
  }
  EXPECT_EQ(text_of(at("noted"), {"--ignore_config_keys", "house_note"}), text_of(at("run")));
  const std::vector<std::string> tune{
      "train",       "--data", at("text.txt"),       "--out", at("noted-run"),        "--init_from", at("noted"),
      "--max_steps", "1",      "--micro_batch_size", "2",     "--ignore_config_keys", "house_note",  "--quiet"};
  const ProgramResult tuned = reprise_run(tune);
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_EQ(read_json(at("noted-run/model/config.json")).find("house_note")->string(), "x");
  EXPECT_EQ(reprise_run({"train", "--resume", at("noted-run"), "--max_steps", "2", "--quiet"}).status, 0);
}

TEST_F(Folders, BrokenShards) {
  ASSERT_EQ(reprise_run({"export", at("run"), "--out", at("broken"), "--max_shard_size", "100kB"}).status, 0);
  const Json index = read_json(at("broken/model.safetensors.index.json"));
  const std::string shard = index.find("weight_map")->find("model.norm.weight")->string();
  const std::string bytes = get_file(at("broken/" + shard));
  put_file(at("broken/" + shard), bytes.substr(0, bytes.size() - 8));
  expect_refusal({"generate", at("broken"), "--prompt", "the "}, shard + ": tensor");
  fs::remove(at("broken/" + shard));
  expect_refusal({"generate", at("broken"), "--prompt", "the "}, "a file that the index names is missing; fetch it again: " + shard);
  expect_refusal({"export", at("broken"), "--out", at("x")}, "a file that the index names is missing; fetch it again: " + shard);
}

}  // namespace
}  // namespace reprise::test
