// SPDX-License-Identifier: Apache-2.0
// Models in GGUF files, written here byte by byte from parameters in memory: they must come back as they were.
#include "nn/gguf_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "nn/gguf_source.h"
#include "nn/gpt.h"
#include "nn/rope.h"
#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/temporary_directory.h"
#include "train/model_folder.h"

namespace reprise {
namespace {

using test::GgufBuilder;
using test::raw;

constexpr std::int64_t kWidth = 64, kHeads = 4, kGroups = 2, kHead = 16, kInner = 96, kVocabulary = 11, kLayers = 2;
constexpr std::uint32_t kF32 = 0, kQ8_0 = 8, kIq2Xxs = 16;

GptConfig structure(bool qwen2, bool tied) {
  GptConfig c;
  c.block_size = 128;
  c.vocab_size = c.padded_vocab_size = kVocabulary;
  c.n_layer = kLayers;
  c.n_head = kHeads;
  c.n_query_groups = kGroups;
  c.n_embd = kWidth;
  c.head_size = kHead;
  c.intermediate_size = kInner;
  c.norm_class = NormClass::rms_norm;
  c.norm_eps = 0.5;  // exact in float32, as the file has it
  c.mlp_class = MlpClass::llama;
  c.bias = false;
  c.attn_bias = qwen2;
  c.tied = tied;
  c.rope_base = 5000;
  return c;
}

struct Parameters {
  std::vector<std::vector<std::byte>> data;
  std::vector<TensorSlot> slots;

  Parameters(const GptConfig& config, std::uint64_t seed) {
    for (const NamedParameter& p : Gpt(config).parameters()) {
      data.emplace_back(static_cast<std::size_t>(p.shape.numel()) * sizeof(float));
      slots.push_back({p.name, DType::float32, p.shape.extents(), {}});
      auto* const values = reinterpret_cast<float*>(data.back().data());
      for (std::int64_t i = 0; i < p.shape.numel(); ++i) {
        values[i] = static_cast<float>(seed * 1000 + slots.size()) + static_cast<float>(i) / 16384;
      }
    }
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].bytes = data[i];
  }

  /// Rows of a parameter (elements of a vector), in the order given.
  std::string rows(const std::string& name, const std::vector<std::int64_t>& order) const {
    const auto slot = std::find_if(slots.begin(), slots.end(), [&](const TensorSlot& s) { return s.name == name; });
    const std::size_t bytes = slot->bytes.size() / static_cast<std::size_t>(slot->shape[0]);
    std::string text;
    for (const std::int64_t row : order) {
      text.append(reinterpret_cast<const char*>(slot->bytes.data()) + static_cast<std::size_t>(row) * bytes, bytes);
    }
    return text;
  }
};

std::vector<std::int64_t> in_order(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < count; ++i) order.push_back(first + i);
  return order;
}

/// Rows of heads as files of architecture llama have them: reshape [heads, 2, half] to [heads, half, 2].
std::vector<std::int64_t> neighbours(std::int64_t first, std::int64_t heads) {
  std::vector<std::int64_t> order;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < kHead / 2; ++i) {
      for (std::int64_t s = 0; s < 2; ++s) order.push_back(first + (h * 2 + s) * (kHead / 2) + i);
    }
  }
  return order;
}

struct FileOptions {
  std::string architecture = "llama";
  bool tied = true;
  std::vector<std::string> without;                            // keys left out, of the architecture
  std::function<void(GgufBuilder&)> more = [](GgufBuilder&) {};  // metadata and tensors besides
};

std::string model_file(const FileOptions& options, const Parameters& p) {
  const bool llama = options.architecture == "llama";
  const bool biased = options.architecture == "qwen2";
  GgufBuilder b;
  b.value("general.architecture", options.architecture.c_str()).value("general.name", "a small model");
  const auto key = [&](const char* name, auto value) {
    if (std::find(options.without.begin(), options.without.end(), name) == options.without.end()) {
      b.value(options.architecture + "." + name, value);
    }
  };
  key("context_length", std::uint32_t{128});
  key("block_count", std::uint32_t{kLayers});
  key("embedding_length", std::uint32_t{kWidth});
  key("feed_forward_length", std::uint32_t{kInner});
  key("attention.head_count", std::uint32_t{kHeads});
  key("attention.head_count_kv", std::uint32_t{kGroups});
  key("attention.layer_norm_rms_epsilon", 0.5f);
  key("rope.freq_base", 5000.0f);
  key("rope.dimension_count", std::uint32_t{kHead});
  key("vocab_size", std::uint32_t{kVocabulary});
  const std::uint64_t width = kWidth, inner = kInner, vocabulary = kVocabulary, queries = kHeads * kHead, keys = kGroups * kHead;
  const auto add = [&](const std::string& name, std::vector<std::uint64_t> extents, const std::string& from,
                       const std::vector<std::int64_t>& order) { b.tensor(name, extents, kF32, p.rows(from, order)); };
  add("token_embd.weight", {width, vocabulary}, "transformer.wte.weight", in_order(0, kVocabulary));
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    const std::string h = "transformer.h." + std::to_string(layer) + ".";
    add(blk + "attn_norm.weight", {width}, h + "norm_1.weight", in_order(0, kWidth));
    const std::string qkv = h + "attn.qkv.weight";
    add(blk + "attn_q.weight", {width, queries}, qkv, llama ? neighbours(0, kHeads) : in_order(0, kHeads * kHead));
    add(blk + "attn_k.weight", {width, keys}, qkv, llama ? neighbours(kHeads * kHead, kGroups) : in_order(kHeads * kHead, kGroups * kHead));
    add(blk + "attn_v.weight", {width, keys}, qkv, in_order((kHeads + kGroups) * kHead, kGroups * kHead));
    if (biased) {
      const std::string bias = h + "attn.qkv.bias";
      add(blk + "attn_q.bias", {queries}, bias, in_order(0, kHeads * kHead));
      add(blk + "attn_k.bias", {keys}, bias, in_order(kHeads * kHead, kGroups * kHead));
      add(blk + "attn_v.bias", {keys}, bias, in_order((kHeads + kGroups) * kHead, kGroups * kHead));
    }
    add(blk + "attn_output.weight", {queries, width}, h + "attn.proj.weight", in_order(0, kWidth));
    add(blk + "ffn_norm.weight", {width}, h + "norm_2.weight", in_order(0, kWidth));
    add(blk + "ffn_gate.weight", {width, inner}, h + "mlp.fc_1.weight", in_order(0, kInner));
    add(blk + "ffn_up.weight", {width, inner}, h + "mlp.fc_2.weight", in_order(0, kInner));
    add(blk + "ffn_down.weight", {inner, width}, h + "mlp.proj.weight", in_order(0, kWidth));
  }
  add("output_norm.weight", {width}, "transformer.ln_f.weight", in_order(0, kWidth));
  if (!options.tied) add("output.weight", {width, vocabulary}, "lm_head.weight", in_order(0, kVocabulary));
  options.more(b);
  return b.build();
}

class GgufModel : public ::testing::Test {
 protected:
  std::filesystem::path put(const FileOptions& options) {
    test::put_file(folder_ / "m.gguf", model_file(options, Parameters(structure(options.architecture == "qwen2", options.tied), 1)));
    return folder_ / "m.gguf";
  }
  GptConfig config(const FileOptions& options) { return gguf_config(GgufFile::open(put(options))); }
  /// The file's model, loaded.
  std::vector<std::vector<std::byte>> load(const FileOptions& options) {
    const std::filesystem::path path = put(options);
    const FolderConfig model = read_config(path);
    Parameters p(model.config, 2);
    load_model_weights(path, model, p.slots);
    return p.data;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(GgufModel, ComesBackAsItWas) {
  for (const bool qwen2 : {false, true}) {
    for (const bool tied : {false, true}) {
      FileOptions options;
      options.architecture = qwen2 ? "qwen2" : "llama";
      options.tied = tied;
      GptConfig expected = structure(qwen2, tied);
      expected.name = "a small model";
      EXPECT_EQ(config(options), expected);
      EXPECT_TRUE(load(options) == Parameters(expected, 1).data) << options.architecture << tied;
    }
  }
}

TEST_F(GgufModel, DefaultsAreTheFormats) {
  FileOptions options;
  options.without = {"attention.head_count_kv", "rope.freq_base", "rope.dimension_count", "vocab_size"};
  const GptConfig c = config(options);
  EXPECT_EQ(c.n_query_groups, kHeads);
  EXPECT_EQ(c.rope_base, 10000);
  EXPECT_EQ(c.vocab_size, kVocabulary);
  options.without = {};
  options.more = [](GgufBuilder& b) { b.value("llama.rope.scaling.type", "linear").value("llama.rope.scaling.factor", 4.0f); };
  EXPECT_EQ(config(options).rope_scaling, (RopeScaling{.kind = RopeScaling::Kind::linear, .factor = 4}));
  options.more = [](GgufBuilder& b) { b.value("llama.rope.scale_linear", 2.0f); };
  EXPECT_EQ(config(options).rope_scaling, (RopeScaling{.kind = RopeScaling::Kind::linear, .factor = 2}));
  options.more = [](GgufBuilder& b) { b.value("llama.rope.scaling.type", "none").value("llama.rope.scaling.finetuned", true); };
  EXPECT_EQ(config(options).rope_scaling, RopeScaling());
}

TEST_F(GgufModel, RefusesWhatItCannotBuild) {
  const auto with = [&](const char* name, auto value) {
    FileOptions options;
    options.more = [=](GgufBuilder& b) { b.value(name, value); };
    return config(options);
  };
  FileOptions other;
  other.architecture = "gemma";
  EXPECT_USER_ERROR(config(other), "m.gguf: general.architecture: \"gemma\" is not supported yet; one of: llama, qwen2");
  FileOptions missing;
  missing.without = {"block_count"};
  EXPECT_USER_ERROR(config(missing), "m.gguf: key \"llama.block_count\" is missing");
  EXPECT_USER_ERROR(with("llama.block_counts", std::uint32_t{1}),
                    "key \"llama.block_counts\" is not known and may change the model; did you mean \"llama.block_count\"?");
  EXPECT_USER_ERROR(with("general.type", "adapter"), "general.type: the file holds no model but: adapter");
  EXPECT_USER_ERROR(with("split.count", std::uint32_t{3}), "split.count: the file is one of 3 parts of a model; join them first");
  EXPECT_USER_ERROR(with("llama.expert_count", std::uint32_t{8}), "llama.expert_count: is not supported yet");
  EXPECT_USER_ERROR(with("llama.attention.sliding_window", std::uint32_t{8}), "llama.attention.sliding_window: is not supported yet");
  EXPECT_USER_ERROR(with("llama.attention.causal", false), "llama.attention.causal: false is not supported yet");
  EXPECT_USER_ERROR(with("llama.rope.scaling.type", "yarn"), "llama.rope.scaling.type: \"yarn\" is not supported; one of: none, linear");
  EXPECT_USER_ERROR(with("llama.rope.scaling.factor", std::numeric_limits<float>::infinity()), "llama.rope.scaling.factor: is not finite");
  EXPECT_USER_ERROR(with("llama.attention.value_length", std::uint32_t{8}),
                    "llama.attention.value_length: is not supported yet unless equal to key_length");
  test::put_file(folder_ / "none.gguf", GgufBuilder().build());
  EXPECT_USER_ERROR(gguf_config(GgufFile::open(folder_ / "none.gguf")), "none.gguf: key \"general.architecture\" is missing");
}

/// A factor for each frequency, as Llama 3's files have them: the frequencies divided, cos and sin as they are.
TEST_F(GgufModel, FactorsOfRotaryFrequenciesAreRead) {
  constexpr std::uint64_t kPairs = kHead / 2;
  std::string factors;
  std::vector<double> expected = rope_frequencies(config(FileOptions{}), 1);
  for (std::size_t i = 0; i < kPairs; ++i) {
    factors += raw(static_cast<float>(1 + i));
    expected[i] /= static_cast<double>(1 + i);
  }
  const auto with = [](std::vector<std::uint64_t> extents, std::uint32_t type, const std::string& bytes, bool linear = false) {
    FileOptions options;
    options.more = [=](GgufBuilder& b) {
      if (linear) b.value("llama.rope.scaling.factor", 4.0f);
      b.tensor("rope_freqs.weight", extents, type, bytes);
    };
    return options;
  };
  const GptConfig c = config(with({kPairs}, kF32, factors));
  EXPECT_TRUE(load(with({kPairs}, kF32, factors)) == Parameters(structure(false, true), 1).data);
  for (const std::int64_t length : {std::int64_t{1}, c.block_size, 4 * c.block_size}) {
    EXPECT_EQ(rope_frequencies(c, length), expected) << length;
  }
  EXPECT_EQ(rope_attention_factor(c.rope_scaling), 1);
  EXPECT_USER_ERROR(config(with({kPairs}, kF32, factors, true)), "m.gguf: the tensor rope_freqs.weight stands beside a linear scaling");
  EXPECT_USER_ERROR(config(with({kPairs, 1}, kF32, factors)),
                    "the tensor rope_freqs.weight must be one row of numbers; it has 2 dimensions, type F32");
  EXPECT_USER_ERROR(config(with({256}, kIq2Xxs, std::string(66, '\0'))), "must be one row of numbers; it has 1 dimensions, type IQ2_XXS");
  EXPECT_USER_ERROR(config(with({3}, kF32, std::string(12, '\1'))),
                    "rope scaling needs one short_factor for each turning pair of a head: 8, not 3");
  EXPECT_USER_ERROR(config(with({kPairs}, kF32, std::string(4 * kPairs, '\0'))), "short_factor");
}

TEST_F(GgufModel, RefusesTensorsThatDoNotFit) {
  FileOptions surplus;
  surplus.more = [](GgufBuilder& b) { b.tensor("blk.0.attn_q.bias", {1}, kF32, raw(1.0f)); };
  EXPECT_USER_ERROR(load(surplus), "m.gguf: the model has no tensor of this name");
  GgufBuilder typed;
  typed.value("general.architecture", "llama").value("llama.block_count", std::uint32_t{1}).value("llama.context_length", std::uint32_t{8});
  typed.value("llama.embedding_length", std::uint32_t{256}).value("llama.feed_forward_length", std::uint32_t{256});
  typed.value("llama.attention.head_count", std::uint32_t{4}).value("llama.attention.layer_norm_rms_epsilon", 0.5f);
  typed.tensor("token_embd.weight", {256, 2}, kIq2Xxs, std::string(132, '\0'));
  test::put_file(folder_ / "typed.gguf", typed.build());
  EXPECT_EQ(read_config(folder_ / "typed.gguf").config.padded_vocab_size, 2);  // shapes need no values
  const GgufSource source(folder_ / "typed.gguf");
  std::vector<std::byte> row(256 * sizeof(float));
  EXPECT_USER_ERROR(source.read_rows(0, 0, 1, DType::float32, row),
                    "typed.gguf: tensor token_embd.weight has type IQ2_XXS, which is not read yet; convert the model to one of F32 F16 "
                    "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K");
}

/// Any range of rows, of a matrix and of a vector, is what decoding the whole gives.
TEST_F(GgufModel, QuantizedRowsAreReadAlone) {
  std::string blocks;
  for (int b = 0; b < 12; ++b) {
    blocks += raw(std::uint16_t{0x3800});  // 0.5
    for (int j = 0; j < 32; ++j) blocks += static_cast<char>(static_cast<std::int8_t>(b * 32 + j - 128));
  }
  GgufBuilder b;
  b.tensor("matrix", {64, 3, 2}, kQ8_0, blocks).tensor("vector", {384}, kQ8_0, blocks);
  test::put_file(folder_ / "q.gguf", b.build());
  const GgufSource source(folder_ / "q.gguf");
  const auto value = [](std::int64_t i) { return 0.5f * static_cast<float>(static_cast<std::int8_t>(i - 128)); };
  for (const auto& [tensor, width] : {std::pair{std::size_t{0}, std::int64_t{64}}, {std::size_t{1}, std::int64_t{1}}}) {
    ASSERT_EQ(source.tensors()[tensor].rows(), 384 / width);
    for (std::int64_t first = 0; first < 384 / width; first += width == 1 ? 7 : 1) {
      for (std::int64_t last = first; last <= 384 / width; last += width == 1 ? 11 : 1) {
        std::vector<double> values(static_cast<std::size_t>((last - first) * width));
        source.read_rows(tensor, first, last, DType::float64, std::as_writable_bytes(std::span(values)));
        for (std::size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(values[i], static_cast<double>(value(first * width + static_cast<std::int64_t>(i))))
              << tensor << ' ' << first << ' ' << last;
        }
      }
    }
  }
}

/// Reads through and counts elements that were read and not released.
class CountingSource final : public TensorSource {
 public:
  explicit CountingSource(const TensorSource& source) : source_(source) { set_tensors(source.tensors()); }
  void read_rows(std::size_t tensor, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const override {
    source_.read_rows(tensor, first, last, dtype, to);
    held_ += (last - first) * tensors()[tensor].width();
    most_ = std::max(most_, held_);
    total_ += (last - first) * tensors()[tensor].width();
  }
  void release(std::size_t tensor) const override {
    source_.release(tensor);
    held_ = 0;
  }
  std::string file_of(std::size_t tensor) const override { return source_.file_of(tensor); }
  std::string name() const override { return source_.name(); }

  std::int64_t held() const { return held_; }
  std::int64_t most() const { return most_; }
  std::int64_t total() const { return total_; }

 private:
  const TensorSource& source_;
  mutable std::int64_t held_ = 0;
  mutable std::int64_t most_ = 0;
  mutable std::int64_t total_ = 0;
};

/// However large a tensor is, little of its file is in memory beside the parameters.
TEST_F(GgufModel, LoadingGivesBackWhatItHasRead) {
  GgufBuilder b;
  const std::int64_t rows = 3000, width = 4096;  // 49 MB
  b.tensor("large", {width, rows}, kF32, std::string(static_cast<std::size_t>(rows * width) * sizeof(float), '\0'));
  test::put_file(folder_ / "large.gguf", b.build());
  const GgufSource file(folder_ / "large.gguf");
  const CountingSource source(file);
  std::vector<std::byte> memory(static_cast<std::size_t>(rows * width) * 2);
  const TensorSlot slot{"p", DType::bfloat16, {rows, width}, memory};
  const WeightTable table{{{"large", {}, {rows, width}, {{"p", 0, rows}}}}, {}};
  load_weights(source, table, std::span(&slot, 1));
  EXPECT_EQ(source.total(), rows * width);
  EXPECT_EQ(source.held(), 0);
  EXPECT_LE(source.most(), kMostHeldElements);
}

}  // namespace
}  // namespace reprise
