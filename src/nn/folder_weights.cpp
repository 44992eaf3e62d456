// SPDX-License-Identifier: Apache-2.0
#include "nn/folder_weights.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "nn/gpt.h"

namespace reprise {
namespace {

struct Rename {
  std::string_view ours;
  std::string_view theirs;
};

constexpr Rename kLlamaTop[] = {{"transformer.wte", "model.embed_tokens"}, {"transformer.ln_f", "model.norm"}, {"lm_head", "lm_head"}};
constexpr Rename kLlamaLayer[] = {{"norm_1", "input_layernorm"},   {"norm_2", "post_attention_layernorm"}, {"attn.proj", "self_attn.o_proj"},
                                  {"mlp.fc_1", "mlp.gate_proj"},   {"mlp.fc_2", "mlp.up_proj"},            {"mlp.proj", "mlp.down_proj"}};
constexpr Rename kNeoxTop[] = {{"transformer.wte", "gpt_neox.embed_in"}, {"transformer.ln_f", "gpt_neox.final_layer_norm"}, {"lm_head", "embed_out"}};
constexpr Rename kNeoxLayer[] = {{"norm_1", "input_layernorm"},         {"norm_2", "post_attention_layernorm"}, {"attn.qkv", "attention.query_key_value"},
                                 {"attn.proj", "attention.dense"},      {"mlp.fc", "mlp.dense_h_to_4h"},        {"mlp.proj", "mlp.dense_4h_to_h"}};

/// A parameter's name in its parts: "transformer.h.3." + "attn.qkv" + "weight".
struct Parts {
  std::optional<std::int64_t> layer;
  std::string_view module;
  std::string_view leaf;
};

Parts parts_of(std::string_view name) {
  constexpr std::string_view kLayers = "transformer.h.";
  Parts parts;
  const std::size_t dot = name.rfind('.');
  parts.leaf = name.substr(dot + 1);
  parts.module = name.substr(0, dot);
  if (name.starts_with(kLayers)) {
    const std::size_t end = name.find('.', kLayers.size());
    parts.layer = std::stoll(std::string(name.substr(kLayers.size(), end - kLayers.size())));
    parts.module = parts.module.substr(end + 1);
  }
  return parts;
}

template <std::size_t N>
std::string_view renamed(const Rename (&table)[N], std::string_view ours) {
  for (const Rename& entry : table) {
    if (entry.ours == ours) return entry.theirs;
  }
  fail_check("known", __FILE__, __LINE__, fmt::format("no name in this family for {}", ours));
}

std::vector<std::int64_t> shape_with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> extents = shape.extents();
  extents[0] = rows;
  return extents;
}

/// One tensor each for queries, keys and values.
void append_llama_qkv(const GptConfig& c, const NamedParameter& p, const Parts& parts, std::vector<FolderTensor>& tensors) {
  const std::int64_t q = c.n_head * c.head_size;
  const std::int64_t kv = c.n_query_groups * c.head_size;
  const std::pair<const char*, RowRange> pieces[] = {{"q", {0, q}}, {"k", {q, q + kv}}, {"v", {q + kv, q + 2 * kv}}};
  for (const auto& [letter, rows] : pieces) {
    tensors.push_back({fmt::format("model.layers.{}.self_attn.{}_proj.{}", *parts.layer, letter, parts.leaf), p.name,
                       shape_with_rows(p.shape, rows.second - rows.first), {rows}});
  }
}

/// GPT-NeoX keeps a head's query, key and value together.
std::vector<RowRange> neox_qkv_rows(const GptConfig& c) {
  std::vector<RowRange> rows;
  for (std::int64_t head = 0; head < c.n_head; ++head) {
    for (std::int64_t part = 0; part < 3; ++part) {
      const std::int64_t first = (part * c.n_head + head) * c.head_size;
      rows.emplace_back(first, first + c.head_size);
    }
  }
  return rows;
}

}  // namespace

std::vector<FolderTensor> folder_tensors(const GptConfig& config, FolderNames names) {
  std::vector<FolderTensor> tensors;
  for (const NamedParameter& p : Gpt(config).parameters()) {
    const Parts parts = parts_of(p.name);
    FolderTensor tensor{p.name, p.name, p.shape.extents(), {{0, p.shape[0]}}};
    if (names == FolderNames::llama) {
      if (parts.module == "attn.qkv") {
        append_llama_qkv(config, p, parts, tensors);
        continue;
      }
      tensor.name = parts.layer ? fmt::format("model.layers.{}.{}.{}", *parts.layer, renamed(kLlamaLayer, parts.module), parts.leaf)
                                : fmt::format("{}.{}", renamed(kLlamaTop, parts.module), parts.leaf);
    }
    if (names == FolderNames::gpt_neox) {
      if (parts.module == "attn.qkv") tensor.rows = neox_qkv_rows(config);
      tensor.name = parts.layer ? fmt::format("gpt_neox.layers.{}.{}.{}", *parts.layer, renamed(kNeoxLayer, parts.module), parts.leaf)
                                : fmt::format("{}.{}", renamed(kNeoxTop, parts.module), parts.leaf);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<std::string> alternative_names(const GptConfig& config, FolderNames names, std::string_view name) {
  constexpr std::string_view kPrefix = "transformer.";
  std::vector<std::string> others;
  if (config.tied && name == "transformer.wte.weight") others.emplace_back("lm_head.weight");
  if (config.tied && name == "model.embed_tokens.weight") others.emplace_back("lm_head.weight");
  if (config.tied && name == "gpt_neox.embed_in.weight") others.emplace_back("embed_out.weight");
  if (names == FolderNames::own && config.weight_names == WeightNames::gpt2 && name.starts_with(kPrefix)) {
    others.emplace_back(name.substr(kPrefix.size()));
  }
  return others;
}

bool is_derived_tensor(const GptConfig& config, FolderNames names, std::string_view name) {
  if (config.tied && (name == "lm_head.weight" || name == "embed_out.weight")) return true;
  if (names == FolderNames::own && config.weight_names == WeightNames::gpt2) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  }
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attention.bias") || name.ends_with(".attention.masked_bias");
}

}  // namespace reprise
