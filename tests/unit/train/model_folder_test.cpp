// SPDX-License-Identifier: Apache-2.0
#include "train/model_folder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "io/file_write.h"
#include "io/safetensors.h"
#include "nn/gpt.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

/// A model's parameters in memory.
struct Parameters {
  std::vector<std::vector<std::byte>> data;
  std::vector<TensorSlot> slots;

  Parameters(const GptConfig& config, DType dtype, std::uint64_t seed) {
    for (const NamedParameter& p : Gpt(config).parameters()) {
      data.emplace_back(static_cast<std::size_t>(TensorType{dtype, p.shape, Device::cpu}.bytes()));
      slots.push_back({p.name, dtype, p.shape.extents(), {}});
      initialize(p, seed, dtype, data.back());
    }
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].bytes = data[i];
  }
};

GptConfig small(std::string_view name) {
  GptConfig config = named_config(name);
  config.n_layer = 2;
  config.n_head = 4;
  config.n_query_groups = config.n_query_groups < 32 && name != "baby-gpt" && name != "pythia-160m" ? 2 : 4;
  config.n_embd = 32;
  config.head_size = 8;
  config.intermediate_size = 24;
  config.vocab_size = config.padded_vocab_size = 11;
  config.block_size = 8;
  config.vocab_follows_tokenizer = false;
  return config;
}

TEST(ModelFolder, KeepsEveryFamilysWeights) {
  for (const char* name : {"baby-gpt", "pythia-160m", "tiny-llama-1.1b", "gpt2"}) {
    const test::TemporaryDirectory folder;
    const GptConfig config = small(name);
    Parameters saved(config, DType::float32, 1);
    const std::string_view text = "abc";
    const auto tokenizer = learn_tokenizer("char", std::span(&text, 1));
    save_model_folder(folder.path() / "model", config, SlotSource(saved.slots), {nullptr, tokenizer.get(), {}, {}});
    const FolderConfig read = read_config(folder.path() / "model");
    Parameters loaded(read.config, DType::float32, 2);
    load_model_weights(folder.path() / "model", read, loaded.slots);
    EXPECT_EQ(loaded.data, saved.data) << name;
    EXPECT_EQ(load_tokenizer(folder.path() / "model")->to_json(), tokenizer->to_json());
  }
}

TEST(ModelFolder, ConvertsFloatingTypes) {
  const test::TemporaryDirectory folder;
  const GptConfig config = small("pythia-160m");
  Parameters saved(config, DType::bfloat16, 1);
  save_model_folder(folder.path() / "model", config, SlotSource(saved.slots));
  Parameters loaded(config, DType::float32, 2);
  load_model_weights(folder.path() / "model", read_config(folder.path() / "model"), loaded.slots);
  for (std::size_t i = 0; i < saved.data.size(); ++i) {
    for (std::size_t k = 0; k < saved.data[i].size() / 2; ++k) {
      bfloat16 narrow;
      float wide;
      std::memcpy(&narrow, saved.data[i].data() + 2 * k, 2);
      std::memcpy(&wide, loaded.data[i].data() + 4 * k, 4);
      ASSERT_EQ(wide, to_float(narrow));
    }
  }
}

TEST(ModelFolder, ValuesThatAreNotFiniteAreErrors) {
  const test::TemporaryDirectory folder;
  const GptConfig config = small("tiny-llama-1.1b");
  const std::filesystem::path path = folder.path() / "model";
  Parameters saved(config, DType::float32, 1);
  save_model_folder(path, config, SlotSource(saved.slots));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::string bytes = test::get_file(path / "model.safetensors");
  const SafetensorsFile file = SafetensorsFile::open(path / "model.safetensors");
  const std::byte* const start = file.find("model.layers.0.self_attn.q_proj.weight")->bytes.data();
  const auto header = bytes.size() - static_cast<std::size_t>(file.tensors().back().bytes.data() + file.tensors().back().bytes.size() -
                                                              file.tensors()[0].bytes.data());
  std::memcpy(bytes.data() + header + (start - file.tensors()[0].bytes.data()) + 4 * 3, &nan, 4);
  std::filesystem::remove(path / "model.safetensors");
  test::put_file(path / "model.safetensors", bytes);
  Parameters loaded(config, DType::float32, 2);
  EXPECT_USER_ERROR(load_model_weights(path, read_config(path), loaded.slots), "a value that is not finite");
  EXPECT_USER_ERROR(load_model_weights(path, read_config(path), loaded.slots), "model.layers.0.self_attn.q_proj.weight: ");
  EXPECT_USER_ERROR(load_model_weights(path, read_config(path), loaded.slots), "element 3 is nan");
  // Nor are they written: 1e5 is finite, but not in float16.
  const float large = 1e5F;
  std::memcpy(saved.data[2].data() + 4 * 3, &large, 4);
  EXPECT_NO_THROW(save_model_folder(path, config, SlotSource(saved.slots), {nullptr, nullptr, DType::bfloat16, {}}));
  EXPECT_USER_ERROR(save_model_folder(path, config, SlotSource(saved.slots), {nullptr, nullptr, DType::float16, {}}),
                    "the weights hold a value that float16 cannot; write the model with another dtype");
  EXPECT_NO_THROW(load_model_weights(path, read_config(path), loaded.slots));  // what was there stays
}

TEST(ModelFolder, AnotherModelIsRefused) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "model";
  const GptConfig config = small("tiny-llama-1.1b");
  Parameters saved(config, DType::float32, 1);
  save_model_folder(path, config, SlotSource(saved.slots));
  FolderConfig other = read_config(path);
  other.config.n_layer = 3;
  Parameters deeper(other.config, DType::float32, 1);
  EXPECT_USER_ERROR(load_model_weights(path, other, deeper.slots), "a tensor of the model is missing: model.layers.2.");
  other.config.n_layer = 1;
  Parameters shallower(other.config, DType::float32, 1);
  EXPECT_USER_ERROR(load_model_weights(path, other, shallower.slots), "the model has no tensor of this name");
  other.config.n_layer = 2;
  other.config.padded_vocab_size = other.config.vocab_size = 12;
  Parameters wider(other.config, DType::float32, 1);
  EXPECT_USER_ERROR(load_model_weights(path, other, wider.slots), "wrong shape of model.embed_tokens.weight");
}

}  // namespace
}  // namespace reprise
