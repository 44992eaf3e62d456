// SPDX-License-Identifier: Apache-2.0
// The structure of a GPT-family model, and the ways to get one: by name, or from a config.json (gpt_config_json.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

enum class NormClass : std::uint8_t { layer_norm, rms_norm };
/// `gpt_neox`: proj(gelu(fc x)); `llama`: proj(silu(fc_1 x) * fc_2 x); `gemma`: the same with gelu.
enum class MlpClass : std::uint8_t { gpt_neox, llama, gemma };
/// Names and storage of the weights: `litgpt` (linear weights [out, in]) or `gpt2` (transformers' GPT-2, weights [in, out]).
enum class WeightNames : std::uint8_t { litgpt, gpt2 };
enum class Positions : std::uint8_t { rotary, learned };

/// How rotary frequencies are stretched. `linear`: divided by factor. `llama3`: by wavelength, long ones divided by
/// factor, short ones kept, a ramp between original / low_freq_factor and original / high_freq_factor.
struct RopeScaling {
  enum class Kind : std::uint8_t { none, linear, llama3 };
  Kind kind = Kind::none;
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_seq_len = 8192;
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

struct GptConfig {
  std::string name;
  std::int64_t block_size = 1024;  // longest sequence
  std::int64_t vocab_size = 50257;
  std::int64_t padded_vocab_size = 50257;  // rows of embedding and head
  bool vocab_follows_tokenizer = false;    // a model made to be trained here takes its tokenizer's vocabulary
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t n_query_groups = 12;  // heads of keys and values
  std::int64_t n_embd = 768;
  std::int64_t head_size = 64;
  std::int64_t intermediate_size = 3072;

  WeightNames weight_names = WeightNames::litgpt;
  Positions positions = Positions::rotary;
  NormClass norm_class = NormClass::layer_norm;
  double norm_eps = 1e-5;
  bool norm_affine = true;       // weight, and a bias with layer_norm
  bool norm_unit_offset = false; // rms_norm scales by 1 + weight
  bool parallel_residual = false;
  bool shared_attention_norm = false;  // with parallel_residual: the MLP reads norm_1 too
  bool bias = true;              // of the linear layers, the head apart
  bool attn_bias = false;        // of qkv although bias is off
  bool lm_head_bias = false;
  bool tied = false;             // head and embedding are one matrix
  bool scale_embeddings = false; // by sqrt(n_embd)
  MlpClass mlp_class = MlpClass::gpt_neox;
  bool gelu_tanh = false;
  std::optional<double> attention_scores_scalar;  // scores are divided by its root, else by head_size's
  bool scale_attn_by_inverse_layer_idx = false;   // and by layer + 1

  double rotary_percentage = 1;
  double rope_base = 10000;
  std::int64_t rope_condense_ratio = 1;  // divides positions
  RopeScaling rope_scaling;

  double embd_dropout = 0;
  double attn_dropout = 0;
  double resid_dropout = 0;
  double initializer_range = 0.02;  // standard deviation of fresh weights; residual projections: / sqrt(2 n_layer)

  /// Elements of a head that turn: int(rotary_percentage * head_size), 0 with learned positions.
  std::int64_t rope_n_elem() const;
  /// Factor of the scores in layer `layer`.
  double attention_scale(std::int64_t layer) const;
  void set_dropout(double p) { embd_dropout = attn_dropout = resid_dropout = p; }

  friend bool operator==(const GptConfig&, const GptConfig&) = default;
};

/// Checks that sizes fit each other. UserError naming field and values.
void validate(const GptConfig& config);

/// Returns the configuration called `name` (shapes only; `tied` as published). UserError with the nearest name.
GptConfig named_config(std::string_view name);
/// All names, in the order of the table.
std::vector<std::string_view> config_names();

/// Sets depth and sequence length, where given. UserError when the block size is over the config's, or either is below 1.
void override_size(GptConfig& config, std::optional<std::int64_t> n_layers, std::optional<std::int64_t> block_size);

/// Makes room for a tokenizer of `vocab_size` tokens: sets the vocabulary where it follows the tokenizer; UserError when the
/// model's is smaller.
void fit_vocabulary(GptConfig& config, std::int64_t vocab_size);

}  // namespace reprise
