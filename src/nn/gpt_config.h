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
/// `gpt_neox`: proj(gelu(fc x)); `llama`: proj(silu(fc_1 x) * fc_2 x); `gemma`: the same with gelu; `llama_moe`: a router
/// and n_expert of `llama`.
enum class MlpClass : std::uint8_t { gpt_neox, llama, gemma, llama_moe };
/// What the norms of queries and keys see: every head by itself, or the vector of all heads (OLMo-2).
enum class NormQkType : std::uint8_t { per_head, all_heads };
/// Names and storage of the weights: `litgpt` (linear weights [out, in]) or `gpt2` (transformers' GPT-2, weights [in, out]).
enum class WeightNames : std::uint8_t { litgpt, gpt2 };
enum class Positions : std::uint8_t { rotary, learned };

/// How rotary frequencies are stretched.
/// `linear`: divided by factor.
/// `llama3`: by wavelength, long ones divided by factor, short ones kept, a ramp between original / low_freq_factor and
/// original / high_freq_factor.
/// `yarn` (Peng et al., 2023): dimensions that turn less than beta_slow times within the original length are divided by
/// factor, those that turn more than beta_fast times are kept, a ramp over dimensions between; cos and sin are scaled.
/// `yarn_litgpt`: the same with the ramp the other way round, and no scaling of cos and sin unless mscale is given.
/// `longrope` (Ding et al., 2024): divided by a factor per dimension, one list for tables of up to the original length and
/// one for longer; cos and sin are scaled.
struct RopeScaling {
  enum class Kind : std::uint8_t { none, linear, llama3, yarn, yarn_litgpt, longrope };
  Kind kind = Kind::none;
  double factor = 1;  // longrope: longest length / original, which only its scaling of cos and sin reads
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_seq_len = 8192;
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;  // yarn: the ramp starts and ends at whole dimensions
  std::optional<double> mscale = {};          // yarn: cos and sin are scaled by that of mscale over that of mscale_all_dim
  std::optional<double> mscale_all_dim = {};  // yarn: latent attention's scores too, by its square
  std::optional<double> attention_factor = {};// of cos and sin, instead of the formula's
  std::vector<double> short_factor = {};      // longrope: one for each turning pair
  std::vector<double> long_factor = {};
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// Queries, keys and values by way of low-rank vectors (DeepSeek-V2, 2024). Heads of queries and keys have
/// qk_nope_head_dim + qk_rope_head_dim elements, of which the last qk_rope_head_dim turn; those of the key are the same in
/// every head.
struct LatentAttention {
  std::int64_t q_lora_rank = 0;  // 0: queries straight from the input
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  double norm_eps = 1e-6;  // of the norms of the low-rank vectors
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Which layers have something: a pattern that repeats.
class LayerPattern {
 public:
  explicit LayerPattern(bool all) : period_{all} {}
  /// One entry per layer, or the pattern. UserError when empty.
  explicit LayerPattern(std::vector<bool> layers);
  bool operator[](std::int64_t layer) const { return period_[static_cast<std::size_t>(layer) % period_.size()]; }
  /// The shortest pattern that repeats to the same.
  const std::vector<bool>& period() const { return period_; }
  friend bool operator==(const LayerPattern&, const LayerPattern&) = default;

 private:
  std::vector<bool> period_;
};

inline constexpr std::int64_t kMostLayers = 10000;

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
  bool norm_1 = true;            // before attention
  bool norm_2 = true;            // before the MLP
  bool post_attention_norm = false;  // of what attention adds to the residual stream
  bool post_mlp_norm = false;
  bool norm_qk = false;          // of queries and keys, before they turn
  NormQkType norm_qk_type = NormQkType::per_head;
  bool parallel_residual = false;
  bool shared_attention_norm = false;  // with parallel_residual: the MLP reads norm_1 too
  bool bias = true;              // of the linear layers, the head apart
  bool attn_bias = false;        // of qkv although bias is off
  bool lm_head_bias = false;
  bool tied = false;             // head and embedding are one matrix
  bool scale_embeddings = false; // by sqrt(n_embd)
  MlpClass mlp_class = MlpClass::gpt_neox;
  bool gelu_tanh = false;
  std::optional<double> attention_scores_scalar;  // scores are divided by its root, else by that of the keys' width
  bool scale_attn_by_inverse_layer_idx = false;   // and by layer + 1
  std::optional<double> attention_logit_softcapping;  // scores become cap tanh(score / cap)
  std::optional<double> final_logit_softcapping;
  std::optional<std::int64_t> sliding_window_size;  // keys a query sees, itself included
  LayerPattern sliding_window_indices{true};        // layers whose attention has the window
  std::optional<LatentAttention> latent_attention;

  // mlp_class llama_moe.
  std::int64_t n_expert = 0;
  std::int64_t n_expert_per_token = 0;
  std::int64_t moe_intermediate_size = 0;    // of an expert; 0: intermediate_size
  std::int64_t n_shared_expert = 0;          // experts that see every token, as one of their joint width
  std::int64_t first_k_dense_replace = 0;    // layers below have a plain `llama` MLP
  double routed_scaling_factor = 1;          // of the chosen experts' weights
  std::int64_t n_expert_groups = 0;          // 0: softmax over the chosen logits; else the grouped sigmoid router (DeepSeek-V3)
  std::int64_t n_topk_groups = 0;            // groups that experts are chosen from,
  std::int64_t n_topk_scores_per_group = 0;  // by the sum of so many of a group's best scores
  bool norm_topk_prob = false;               // the grouped router's weights are divided by their sum

  double rotary_percentage = 1;
  double rope_base = 10000;
  std::int64_t rope_condense_ratio = 1;  // divides positions
  RopeScaling rope_scaling;
  bool rope_interleave = false;  // neighbours turn together; they come out as all even, then all odd elements
  LayerPattern rope_layers{true};              // layers that turn queries and keys
  std::optional<double> rope_local_base_freq;  // base without scaling,
  LayerPattern rope_indices{false};            // of these layers

  double embd_dropout = 0;
  double attn_dropout = 0;
  double resid_dropout = 0;
  double initializer_range = 0.02;  // standard deviation of fresh weights; residual projections: / sqrt(2 n_layer)

  /// Elements of a head that turn: int(rotary_percentage * head_size), qk_rope_head_dim with latent attention, 0 with
  /// learned positions.
  std::int64_t rope_n_elem() const;
  /// Elements of a query's and a key's head; of a value's.
  std::int64_t key_width() const;
  std::int64_t value_width() const;
  /// Factor of the scores in layer `layer`.
  double attention_scale(std::int64_t layer) const;
  /// The window of layer `layer`, 0 for none.
  std::int64_t window(std::int64_t layer) const;
  bool has_experts(std::int64_t layer) const { return mlp_class == MlpClass::llama_moe && layer >= first_k_dense_replace; }
  std::int64_t expert_width() const { return moe_intermediate_size > 0 ? moe_intermediate_size : intermediate_size; }
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
