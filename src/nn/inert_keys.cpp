// SPDX-License-Identifier: Apache-2.0
#include "nn/inert_keys.h"

namespace reprise {
namespace {

constexpr std::string_view kCommon[] = {
    // What the file is and how it was made.
    "architectures", "model_type", "_name_or_path", "name_or_path", "_commit_hash", "auto_map", "transformers_version", "torch_dtype",
    "dtype", "tokenizer_class", "unsloth_version", "unsloth_fixed",
    // Tokens.
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id", "prefix",
    // How transformers runs it.
    "use_cache", "is_decoder", "return_dict", "output_hidden_states", "output_attentions", "torchscript", "use_bfloat16", "tf_legacy_loss",
    "gradient_checkpointing", "chunk_size_feed_forward", "_attn_implementation", "attn_implementation", "_attn_implementation_autoset",
    "_attn_implementation_internal", "_flash_attn_2_enabled", "cache_implementation", "pretraining_tp",
    // Tasks other than language modelling.
    "id2label", "label2id", "num_labels", "problem_type", "finetuning_task", "task_specific_params", "classifier_dropout",
    // Defaults of generation.
    "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty", "temperature", "top_k",
    "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
    "num_return_sequences", "output_scores", "return_dict_in_generate", "forced_bos_token_id", "forced_eos_token_id",
    "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens",
    // Dropout: a run's own option sets it.
    "attention_dropout"};

constexpr std::string_view kGpt2[] = {
    "n_ctx",       "reorder_and_upcast_attn", "summary_type",         "summary_use_proj", "summary_activation", "attn_pdrop", "embd_pdrop",
    "resid_pdrop", "summary_proj_to_labels",  "summary_first_dropout"};
constexpr std::string_view kNeox[] = {"hidden_dropout"};
constexpr std::string_view kFalcon[] = {"hidden_dropout", "ff_factor"};
constexpr std::string_view kExperts[] = {"router_aux_loss_coef"};
constexpr std::string_view kGemma2[] = {"hidden_act"};
constexpr std::string_view kGemma3[] = {"hidden_act"};
constexpr std::string_view kPhi[] = {"resid_pdrop", "embd_pdrop"};
constexpr std::string_view kStableLm[] = {"hidden_dropout"};
constexpr std::string_view kStarcoder2[] = {"residual_dropout", "embedding_dropout", "activation_function", "layer_norm_epsilon",
                                            "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32"};
constexpr std::string_view kSmolLm3[] = {"max_window_layers"};
constexpr std::string_view kDeepseek[] = {"qk_head_dim",   "head_dim", "num_nextn_predict_layers", "aux_loss_alpha", "seq_aux", "ep_size",
                                          "router_aux_loss_coef"};

}  // namespace

std::span<const std::string_view> common_inert_keys() { return kCommon; }

std::span<const std::string_view> inert_keys(ModelFamily family) {
  switch (family) {
    case ModelFamily::gpt2: return kGpt2;
    case ModelFamily::gpt_neox: return kNeox;
    case ModelFamily::falcon: return kFalcon;
    case ModelFamily::mixtral:
    case ModelFamily::qwen3_moe: return kExperts;
    case ModelFamily::gemma2: return kGemma2;
    case ModelFamily::gemma3: return kGemma3;
    case ModelFamily::phi:
    case ModelFamily::phi3: return kPhi;
    case ModelFamily::stablelm: return kStableLm;
    case ModelFamily::starcoder2: return kStarcoder2;
    case ModelFamily::smollm3: return kSmolLm3;
    case ModelFamily::deepseek_v3: return kDeepseek;
    case ModelFamily::own:
    case ModelFamily::llama:
    case ModelFamily::mistral:
    case ModelFamily::qwen2:
    case ModelFamily::qwen3:
    case ModelFamily::gemma:
    case ModelFamily::olmo:
    case ModelFamily::olmo2: return {};
  }
  return {};
}

}  // namespace reprise
