// SPDX-License-Identifier: Apache-2.0
// Folders of every family, as bfloat16 and float16, whole and in shards: read, written again unchanged, trained for a step, written
// as they were laid out, and read again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "executor/loops/executor.h"
#include "executor/onednn/executor.h"
#include "executor/reference_executor.h"
#include "io/file_write.h"
#include "io/json.h"
#include "nn/gpt.h"
#include "nn/safetensors_source.h"
#include "support/expect_error.h"
#include "support/figure_folder.h"
#include "train/model_folder.h"
#include "train/trainer.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

struct Form {
  const char* name;
  DType dtype;
  std::size_t shards;
};
constexpr Form kForms[] = {{"bfloat16", DType::bfloat16, 1}, {"float16", DType::float16, 1}, {"shards", DType::float32, 2}};

/// Tensors by name: where, of what type and shape, and what bytes.
struct Stored {
  std::string shard;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
  friend bool operator==(const Stored&, const Stored&) = default;
};

std::map<std::string, Stored> stored_tensors(const fs::path& folder) {
  const auto source = SafetensorsSource::open_folder(folder);
  std::map<std::string, Stored> tensors;
  for (std::size_t i = 0; i < source->tensors().size(); ++i) {
    const SafetensorsTensor& tensor = source->stored(i);
    tensors[tensor.name] = {source->shard_of(i), tensor.dtype, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}};
  }
  return tensors;
}

/// A model's parameters in memory, in float32.
struct Memory {
  explicit Memory(const GptConfig& config) {
    for (const NamedParameter& p : Gpt(config).parameters()) {
      data.emplace_back(static_cast<std::size_t>(TensorType{DType::float32, p.shape, Device::cpu}.bytes()));
      slots.push_back({p.name, DType::float32, p.shape.extents(), {}});
    }
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].bytes = data[i];
  }
  std::vector<std::vector<std::byte>> data;
  std::vector<TensorSlot> slots;
};

class FamilyFolder : public testing::TestWithParam<std::tuple<FolderFigure, Form>> {
 protected:
  void SetUp() override {
    const auto& [figure, form] = GetParam();
    fs::create_directory(origin_);
    put_figure_folder(origin_, figure, form.dtype, form.shards);
    put_file(origin_ / "generation_config.json", R"({"eos_token_id": 2})");
  }

  TemporaryDirectory folder_;
  const fs::path origin_ = folder_ / "origin";
};

TEST_P(FamilyFolder, UntouchedWeightsAreWrittenAsTheyWere) {
  const FolderLayout layout = read_layout(origin_);
  const FolderConfig model = read_config(origin_);
  Memory memory(model.config);
  load_model_weights(origin_, model, memory.slots);
  save_model_folder(folder_ / "again", model.config, SlotSource(memory.slots), {&layout, nullptr, {}, {}});
  EXPECT_EQ(stored_tensors(folder_ / "again"), stored_tensors(origin_));
  EXPECT_EQ(read_json(folder_ / "again/config.json"), read_json(origin_ / "config.json"));
  EXPECT_EQ(get_file(folder_ / "again/generation_config.json"), get_file(origin_ / "generation_config.json"));
  // Straight from file to file too.
  const auto source = SafetensorsSource::open_folder(origin_);
  save_model_folder(folder_ / "copy", model.config, FileSource(*source, folder_weights(model.config, model.family)),
                    {&layout, nullptr, {}, {}});
  EXPECT_EQ(stored_tensors(folder_ / "copy"), stored_tensors(origin_));
}

TEST_P(FamilyFolder, TrainsAStep) {
  write_text_file(folder_ / "text.txt", [] {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "the quick brown fox jumps over a lazy dog ";
    return text;
  }());
  const RunDirectory run = RunDirectory::create(folder_ / "run", "seed = 1\n", false);
  DatasetOptions from;
  from.paths = {folder_ / "text.txt"};
  from.block_size = 8;
  const Dataset data = build_dataset(run.data(), from);
  TrainerOptions options;
  options.config = read_config(origin_).config;
  options.init_from = options.layout_of = origin_;
  options.block_size = 8;
  options.micro_batch_size = 2;
  options.schedule = {.kind = ScheduleKind::constant, .peak = 1e-2, .total_steps = 1};
  options.max_steps = 1;
  options.eval_interval = 0;
  options.compile = host_options({&onednn_executor(), &loops_executor(), &reference_executor()}, 1);
  Trainer(std::move(options), run, data, false).run();

  const auto before = stored_tensors(origin_);
  const auto after = stored_tensors(run.model());
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, tensor] : before) {
    ASSERT_TRUE(after.contains(name)) << name;
    EXPECT_EQ(after.at(name).shard, tensor.shard) << name;
    EXPECT_EQ(after.at(name).dtype, tensor.dtype) << name;
    EXPECT_EQ(after.at(name).shape, tensor.shape) << name;
  }
  const std::string embedding = folder_weights(read_config(origin_).config, read_config(origin_).family).tensors[0].name;
  EXPECT_NE(after.at(embedding).bytes, before.at(embedding).bytes);
  EXPECT_EQ(read_json(run.model() / "config.json"), read_json(origin_ / "config.json"));
  EXPECT_TRUE(fs::exists(run.model() / "tokenizer.json"));

  // What was written reads back to the same bytes once more.
  const FolderConfig model = read_config(run.model());
  Memory memory(model.config);
  load_model_weights(run.model(), model, memory.slots);
  const FolderLayout layout = read_layout(run.model());
  save_model_folder(folder_ / "again", model.config, SlotSource(memory.slots), {&layout, nullptr, {}, {}});
  EXPECT_EQ(stored_tensors(folder_ / "again"), after);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyFolder, testing::Combine(testing::ValuesIn(kFolderFigures), testing::ValuesIn(kForms)),
                         [](const auto& parameter) {
                           std::string name = std::string(std::get<0>(parameter.param).name) + "_" + std::get<1>(parameter.param).name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

const FolderFigure& figure(std::string_view name) {
  return *std::find_if(std::begin(kFolderFigures), std::end(kFolderFigures), [&](const FolderFigure& f) { return f.name == name; });
}

TEST(FolderOptions, TypesAndShards) {
  const TemporaryDirectory folder;
  put_figure_folder(folder.path(), figure("llama"), DType::float32, 1);
  const FolderLayout layout = read_layout(folder.path());
  const auto source = SafetensorsSource::open_folder(folder.path());
  const FileSource parameters(*source, folder_weights(layout.model.config, layout.model.family));
  save_model_folder(folder / "half", layout.model.config, parameters, {&layout, nullptr, DType::float16, 4000});
  EXPECT_EQ(read_json(folder / "half/config.json").find("torch_dtype")->string(), "float16");
  std::size_t total = 0;
  std::map<std::string, std::size_t> sizes;
  for (const auto& [name, tensor] : stored_tensors(folder / "half")) {
    EXPECT_EQ(tensor.dtype, DType::float16);
    sizes[tensor.shard] += tensor.bytes.size();
    total += tensor.bytes.size();
  }
  EXPECT_EQ(sizes.size(), 3U);
  for (const auto& [shard, size] : sizes) EXPECT_LE(size, 4000U) << shard;
  EXPECT_TRUE(sizes.contains("model-00001-of-00003.safetensors"));
  EXPECT_EQ(read_json(folder / "half/model.safetensors.index.json").find("metadata")->find("total_size")->integer(),
            static_cast<std::int64_t>(total));
  EXPECT_EQ(read_config(folder / "half").config, layout.model.config);
  // A size that all fits into gives one file without an index.
  save_model_folder(folder / "one", layout.model.config, parameters, {&layout, nullptr, {}, 1000000});
  EXPECT_TRUE(fs::exists(folder / "one/model.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "one/model.safetensors.index.json"));
}

TEST(FolderOptions, FilesOfTokenizerAndGeneration) {
  const TemporaryDirectory folder;
  put_figure_folder(folder.path(), figure("qwen2"), DType::float32, 1);
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "merges.txt", "generation_config.json", "chat_template.jinja", "notes.txt"}) {
    put_file(folder / name, std::string("of ") + name);
  }
  const FolderLayout layout = read_layout(folder.path());
  const auto source = SafetensorsSource::open_folder(folder.path());
  const FileSource parameters(*source, folder_weights(layout.model.config, layout.model.family));
  save_model_folder(folder / "with", layout.model.config, parameters, {&layout, nullptr, {}, {}});
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "merges.txt", "generation_config.json", "chat_template.jinja"}) {
    EXPECT_EQ(get_file(folder / "with" / name), std::string("of ") + name);
  }
  EXPECT_FALSE(fs::exists(folder / "with/notes.txt"));
  const std::string_view text = "abc";
  const auto tokenizer = learn_tokenizer("char", std::span(&text, 1));
  save_model_folder(folder / "other", layout.model.config, parameters, {&layout, tokenizer.get(), {}, {}});
  EXPECT_EQ(load_tokenizer(folder / "other")->fingerprint(), tokenizer->fingerprint());
  EXPECT_TRUE(fs::exists(folder / "other/generation_config.json"));
  EXPECT_FALSE(fs::exists(folder / "other/merges.txt"));
}

TEST(FolderOptions, NamesOfOldFilesAreKept) {
  const TemporaryDirectory folder;
  put_figure_folder(folder.path(), figure("gpt2"), DType::float32, 1);
  const FolderConfig model = read_config(folder.path());
  // As the first published GPT-2 files: no prefix, masks among the weights.
  const auto whole = SafetensorsSource::open_folder(folder.path());
  fs::create_directory(folder / "old");
  fs::copy(folder / "config.json", folder / "old/config.json");
  std::vector<SafetensorsPlan> plan;
  for (const SourceTensor& tensor : whole->tensors()) {
    plan.push_back({tensor.name.substr(std::string("transformer.").size()), DType::float32, tensor.shape});
  }
  plan.push_back({"h.0.attn.bias", DType::float32, {1}});
  SafetensorsWriter writer(folder / "old/model.safetensors", plan);
  for (std::size_t i = 0; i < whole->tensors().size(); ++i) writer.write(whole->stored(i).bytes);
  const std::vector<float> mask{1};
  writer.write(std::as_bytes(std::span(mask)));
  writer.finish();

  const FolderLayout layout = read_layout(folder / "old");
  Memory memory(model.config);
  load_model_weights(folder / "old", model, memory.slots);
  save_model_folder(folder / "again", model.config, SlotSource(memory.slots), {&layout, nullptr, {}, {}});
  auto expected = stored_tensors(folder / "old");
  expected.erase("h.0.attn.bias");
  EXPECT_EQ(stored_tensors(folder / "again"), expected);
}

TEST(FolderOptions, AChangedStructureKeepsTheOriginsOtherKeys) {
  const TemporaryDirectory folder;
  put_figure_folder(folder.path(), figure("qwen2"), DType::float32, 1);
  Json config = read_json(folder / "config.json");
  config.set("eos_token_id", 7);
  write_text_file(folder / "config.json", write_json(config));
  const FolderLayout layout = read_layout(folder.path());
  GptConfig shallow = layout.model.config;
  shallow.n_layer = 1;
  Memory memory(shallow);
  save_model_folder(folder / "one", shallow, SlotSource(memory.slots), {&layout, nullptr, {}, {}});
  const Json written = read_json(folder / "one/config.json");
  EXPECT_EQ(written.find("num_hidden_layers")->integer(), 1);
  EXPECT_EQ(written.find("eos_token_id")->integer(), 7);
  EXPECT_EQ(read_config(folder / "one").config, shallow);
}

}  // namespace
}  // namespace reprise::test
