// SPDX-License-Identifier: Apache-2.0
#include "nn/gguf_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/json_view.h"
#include "nn/config_fields.h"

namespace reprise {
namespace {

enum class Architecture : std::uint8_t { llama, qwen2 };

/// Keys that every file has, of all namespaces but the architecture's.
struct General {
  Architecture architecture = Architecture::llama;
  std::string prefix;  // of the architecture's keys: "llama."
  std::string name;
};

General read_general(const GgufFile& file) {
  const Json keys = metadata_json(file, "general.");
  ConfigFields f(JsonView(keys, file.path().string()));
  if (const std::string type = f.string("general.type", "model"); type != "model") {
    f.view().at("general.type").fail(fmt::format("the file holds no model but: {}", type));
  }
  General general;
  const std::string architecture = f.string("general.architecture");
  if (architecture != "llama" && architecture != "qwen2") {
    f.view().at("general.architecture").fail(fmt::format("\"{}\" is not supported yet; one of: llama, qwen2", architecture));
  }
  if (architecture == "qwen2") general.architecture = Architecture::qwen2;
  general.prefix = architecture + ".";
  general.name = f.string("general.name", "");
  return general;
}

void refuse_parts(const GgufFile& file) {
  const Json keys = metadata_json(file, "split.");
  ConfigFields f(JsonView(keys, file.path().string()));
  if (const std::int64_t count = f.integer("split.count", 1); count > 1) {
    f.view().at("split.count").fail(fmt::format("the file is one of {} parts of a model; join them first", count));
  }
}

/// The architecture's keys, asked for without its name.
class ArchitectureFields {
 public:
  ArchitectureFields(const JsonView& view, std::string prefix) : f_(view), prefix_(std::move(prefix)) {}

  bool has(std::string_view key) { return f_.has(whole(key)); }
  std::int64_t integer(std::string_view key, std::optional<std::int64_t> fallback = {}) { return f_.integer(whole(key), fallback); }
  double number(std::string_view key, std::optional<double> fallback = {}) {
    const double value = f_.number(whole(key), fallback);
    if (!std::isfinite(value)) fail(key, "is not finite");
    return value;
  }
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> names, std::size_t fallback) {
    return f_.choice(whole(key), names, fallback);
  }
  void refuse(std::string_view key) { f_.refuse(whole(key)); }
  void require(std::string_view key, bool value) { f_.require(whole(key), value); }
  void ignore(std::string_view key) { f_.ignore({whole(key)}); }
  void finish() const { f_.finish(); }
  [[noreturn]] void fail(std::string_view key, std::string_view what) const { f_.view().at(whole(key)).fail(what); }
  const JsonView& view() const { return f_.view(); }

 private:
  std::string whole(std::string_view key) const { return prefix_ + std::string(key); }

  ConfigFields f_;
  std::string prefix_;
};

constexpr std::string_view kRopeFactors = "rope_freqs.weight";

void read_rope(ArchitectureFields& f, GptConfig& c) {
  // Whether and from what length a linear scaling was trained changes nothing.
  for (const char* key : {"rope.scaling.original_context_length", "rope.scaling.finetuned"}) f.ignore(key);
  c.rope_base = f.number("rope.freq_base", 10000);
  if (f.integer("rope.dimension_count", c.head_size) != c.head_size) {
    f.fail("rope.dimension_count", "is not supported yet unless whole heads turn");
  }
  // Files older than rope.scaling have the factor under rope.scale_linear; one that has a factor and no type scales linearly.
  const double old_factor = f.number("rope.scale_linear", 0);
  const double factor = f.number("rope.scaling.factor", old_factor);
  const bool linear = f.choice("rope.scaling.type", {"none", "linear"}, factor != 0 ? 1 : 0) == 1;
  if (!linear || factor == 0 || factor == 1) return;
  c.rope_scaling.kind = RopeScaling::Kind::linear;
  c.rope_scaling.factor = factor;
}

/// What the frequency of each turning pair is divided by, as files of Llama 3 have it; lengths play no part.
void read_rope_factors(const GgufFile& file, const JsonView& view, GptConfig& c) {
  const GgufTensor* const tensor = file.find_tensor(kRopeFactors);
  if (tensor == nullptr) return;
  const std::string name(kRopeFactors);
  if (c.rope_scaling.kind != RopeScaling::Kind::none) {
    view.fail("the tensor " + name + " stands beside a linear scaling; which one holds is not clear");
  }
  if (tensor->shape.size() != 1 || tensor->type->decode == nullptr) {
    view.fail(fmt::format("the tensor {} must be one row of numbers; it has {} dimensions, type {}", name, tensor->shape.size(),
                          tensor->type->name));
  }
  std::vector<float> factors(static_cast<std::size_t>(tensor->shape[0]));
  decode_ggml(*tensor->type, tensor->bytes, factors);
  c.rope_scaling.kind = RopeScaling::Kind::longrope;
  c.rope_scaling.short_factor = c.rope_scaling.long_factor = {factors.begin(), factors.end()};
  c.rope_scaling.original_max_seq_len = c.block_size;
}

/// [rows, columns] of the embedding; UserError when it is missing.
const GgufTensor& embedding(const GgufFile& file) {
  const GgufTensor* const tensor = file.find_tensor("token_embd.weight");
  if (tensor != nullptr && tensor->shape.size() == 2) return *tensor;
  throw UserError(fmt::format("{}: the matrix token_embd.weight is missing; the file is damaged or holds no model", file.path().string()));
}

constexpr ModuleName kTop[] = {{"model.embed_tokens", "token_embd"}, {"model.norm", "output_norm"}, {"lm_head", "output"}};
constexpr ModuleName kLayer[] = {{"input_layernorm", "attn_norm"},     {"self_attn.q_proj", "attn_q"}, {"self_attn.k_proj", "attn_k"},
                                 {"self_attn.v_proj", "attn_v"},       {"self_attn.o_proj", "attn_output"},
                                 {"post_attention_layernorm", "ffn_norm"}, {"mlp.gate_proj", "ffn_gate"},
                                 {"mlp.up_proj", "ffn_up"},            {"mlp.down_proj", "ffn_down"}};

template <std::size_t N>
std::string_view renamed(const ModuleName (&table)[N], std::string_view ours) {
  const auto* const found = std::find_if(std::begin(table), std::end(table), [&](const ModuleName& name) { return name.ours == ours; });
  REPRISE_CHECK(found != std::end(table), fmt::format("no name in GGUF files for {}", ours));
  return found->theirs;
}

/// The name of a tensor that a Hugging Face folder calls `name`.
std::string gguf_name(std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  const std::size_t dot = name.rfind('.');
  const std::string_view leaf = name.substr(dot + 1);
  std::string_view module = name.substr(0, dot);
  if (!module.starts_with(kLayers)) return fmt::format("{}.{}", renamed(kTop, module), leaf);
  module.remove_prefix(kLayers.size());
  const std::size_t end = module.find('.');
  return fmt::format("blk.{}.{}.{}", module.substr(0, end), renamed(kLayer, module.substr(end + 1)), leaf);
}

/// Rows of whole heads in our order, as rows in the order of a file whose neighbours turn together.
std::vector<ParameterRows> interleaved(const ParameterRows& rows, std::int64_t head_size) {
  std::vector<ParameterRows> order;
  for (std::int64_t head = rows.first; head < rows.last; head += head_size) {
    for (std::int64_t i = 0; i < head_size / 2; ++i) {
      for (const std::int64_t row : {head + i, head + head_size / 2 + i}) order.push_back({rows.parameter, row, row + 1});
    }
  }
  return order;
}

}  // namespace

GptConfig gguf_config(const GgufFile& file) {
  const General general = read_general(file);
  refuse_parts(file);
  const Json keys = metadata_json(file, general.prefix);
  ArchitectureFields f(JsonView(keys, file.path().string()), general.prefix);
  GptConfig c;
  c.name = general.name;
  c.norm_class = NormClass::rms_norm;
  c.mlp_class = MlpClass::llama;
  c.bias = false;
  c.attn_bias = general.architecture == Architecture::qwen2;
  c.block_size = f.integer("context_length");
  c.n_layer = f.integer("block_count");
  c.n_embd = f.integer("embedding_length");
  c.intermediate_size = f.integer("feed_forward_length");
  c.n_head = f.integer("attention.head_count");
  c.n_query_groups = f.integer("attention.head_count_kv", c.n_head);
  c.head_size = f.integer("attention.key_length", c.n_embd / std::max<std::int64_t>(1, c.n_head));
  if (f.integer("attention.value_length", c.head_size) != c.head_size) {
    f.fail("attention.value_length", "is not supported yet unless equal to key_length");
  }
  c.norm_eps = f.number("attention.layer_norm_rms_epsilon");
  read_rope(f, c);
  c.padded_vocab_size = embedding(file).shape[0];
  c.vocab_size = f.integer("vocab_size", c.padded_vocab_size);
  c.tied = file.find_tensor("output.weight") == nullptr;
  for (const char* key : {"expert_count", "expert_used_count", "attention.sliding_window", "attention.clamp_kqv", "logit_scale"}) {
    f.refuse(key);
  }
  f.require("attention.causal", true);
  f.require("use_parallel_residual", false);
  f.choice("tensor_data_layout", {"Meta AI original pth"}, 0);
  f.finish();
  read_rope_factors(file, f.view(), c);
  try {
    validate(c);
  } catch (const UserError& error) {
    f.view().fail(error.what());
  }
  return c;
}

WeightTable gguf_weights(const GptConfig& config, const GgufFile& file) {
  const bool llama = read_general(file).architecture == Architecture::llama;
  WeightTable table = folder_weights(config, llama ? ModelFamily::llama : ModelFamily::qwen2);
  table.derived = {std::string(kRopeFactors)};
  for (FolderTensor& tensor : table.tensors) {
    tensor.name = gguf_name(tensor.name);
    tensor.other_names.clear();
    const bool turns = tensor.name.ends_with(".attn_q.weight") || tensor.name.ends_with(".attn_k.weight");
    if (llama && turns) tensor.rows = interleaved(tensor.rows.front(), config.head_size);
  }
  return table;
}

}  // namespace reprise
