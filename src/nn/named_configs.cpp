// SPDX-License-Identifier: Apache-2.0
// The named configurations: structural styles, and a table of sizes. Published models of the GPT-NeoX, Llama, Falcon,
// StableLM, OLMo, Phi, Mistral, Mixtral, Qwen and Gemma lines, GPT-2, GPT-3's largest, and small models to train here.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/nearest.h"
#include "nn/gpt_config.h"

namespace reprise {
namespace {

/// What the sizes of a line of models have in common.
enum class Style { gpt2, neox, stablelm, falcon, falcon_shared, llama, qwen2, qwen3, olmo, olmo2, gemma, gemma2, gemma3, phi };

/// Departures from the style.
struct Extra {
  double eps = 1e-5;
  double rotary = 0;         // 0: the style's
  double llama3_factor = 0;  // 0: no rope scaling
  double linear_factor = 0;
  std::int64_t condense = 1;
  std::int64_t window = 0;   // 0: the style's
  double scores_scalar = 0;  // 0: the head size
  std::int64_t experts = 0;  // 0: a plain MLP
  std::int64_t experts_per_token = 0;
  std::int64_t expert_width = 0;  // 0: the MLP's
  bool tied = false;
  bool tokenizer_vocab = false;
};

struct Row {
  Style style;
  std::int64_t layers, heads, groups, width, head, mlp, block, vocab, padded, rope_base;
  Extra extra;
  const char* names;  // separated by blanks
};

// style, layers, heads, key/value heads, width, head size, mlp width, longest sequence, vocabulary, padded, rope base
constexpr Row kRows[] = {
    // To train here, GPT-2, and the sizes of GPT-3 (Brown et al., 2020), all of its attention dense.
    {Style::gpt2, 6, 6, 6, 384, 64, 1536, 256, 65, 65, 10000, {.tied = true, .tokenizer_vocab = true}, "baby-gpt"},
    {Style::llama, 6, 6, 6, 384, 64, 1024, 256, 65, 65, 10000, {.tied = true, .tokenizer_vocab = true}, "baby-llama"},
    {Style::neox, 6, 6, 6, 384, 64, 1536, 256, 65, 65, 10000, {.tokenizer_vocab = true}, "baby-neox"},
    {Style::gpt2, 2, 2, 2, 64, 32, 256, 64, 65, 65, 10000, {.tied = true, .tokenizer_vocab = true}, "toy-gpt"},
    {Style::llama, 2, 4, 2, 64, 16, 176, 64, 65, 65, 10000, {.tied = true, .tokenizer_vocab = true}, "toy-llama"},
    {Style::neox, 2, 4, 4, 64, 16, 256, 64, 65, 65, 10000, {.tokenizer_vocab = true}, "toy-neox"},
    {Style::gpt2, 12, 12, 12, 768, 64, 3072, 1024, 50257, 50257, 10000, {.tied = true}, "gpt2"},
    {Style::gpt2, 24, 16, 16, 1024, 64, 4096, 1024, 50257, 50257, 10000, {.tied = true}, "gpt2-medium"},
    {Style::gpt2, 36, 20, 20, 1280, 64, 5120, 1024, 50257, 50257, 10000, {.tied = true}, "gpt2-large"},
    {Style::gpt2, 48, 25, 25, 1600, 64, 6400, 1024, 50257, 50257, 10000, {.tied = true}, "gpt2-xl"},
    {Style::gpt2, 96, 96, 96, 12288, 128, 49152, 2048, 50257, 50257, 10000, {.tied = true}, "gpt3-175b"},
    // Published models.
    {Style::neox, 16, 32, 32, 4096, 128, 16384, 4096, 50254, 50688, 10000, {}, "stablelm-base-alpha-3b stablelm-tuned-alpha-3b"},
    {Style::neox, 16, 48, 48, 6144, 128, 24576, 4096, 50254, 50432, 10000, {}, "stablelm-base-alpha-7b stablelm-tuned-alpha-7b"},
    {Style::stablelm, 32, 32, 32, 2560, 80, 6912, 4096, 50254, 50304, 10000, {}, "stablelm-3b-4e1t stablelm-zephyr-3b"},
    {Style::neox, 32, 32, 32, 2560, 80, 10240, 16384, 49152, 49152, 10000, {}, "stablecode-completion-alpha-3b"},
    {Style::neox, 32, 32, 32, 2560, 80, 10240, 4096, 49152, 49152, 10000, {},
     "stablecode-completion-alpha-3b-4k stablecode-instruct-alpha-3b"},
    {Style::stablelm, 32, 32, 32, 2560, 80, 6912, 16384, 50254, 50304, 10000, {}, "stable-code-3b"},
    {Style::neox, 6, 4, 4, 128, 32, 512, 512, 50254, 50304, 10000, {}, "pythia-14m"},
    {Style::neox, 6, 8, 8, 256, 32, 1024, 1024, 50254, 50304, 10000, {}, "pythia-31m"},
    {Style::neox, 6, 8, 8, 512, 64, 2048, 2048, 50254, 50304, 10000, {}, "pythia-70m pythia-70m-deduped"},
    {Style::neox, 12, 12, 12, 768, 64, 3072, 2048, 50254, 50304, 10000, {}, "pythia-160m pythia-160m-deduped"},
    {Style::neox, 24, 16, 16, 1024, 64, 4096, 2048, 50254, 50304, 10000, {}, "pythia-410m pythia-410m-deduped"},
    {Style::neox, 16, 8, 8, 2048, 256, 8192, 2048, 50254, 50304, 10000, {}, "pythia-1b pythia-1b-deduped"},
    {Style::neox, 24, 16, 16, 2048, 128, 8192, 2048, 50254, 50304, 10000, {}, "pythia-1.4b pythia-1.4b-deduped"},
    {Style::neox, 32, 32, 32, 2560, 80, 10240, 2048, 50254, 50304, 10000, {}, "pythia-2.8b pythia-2.8b-deduped"},
    {Style::neox, 32, 32, 32, 4096, 128, 16384, 2048, 50254, 50432, 10000, {}, "pythia-6.9b pythia-6.9b-deduped"},
    {Style::neox, 36, 40, 40, 5120, 128, 20480, 2048, 50254, 50688, 10000, {}, "pythia-12b pythia-12b-deduped"},
    {Style::falcon_shared, 32, 71, 1, 4544, 64, 18176, 2048, 65024, 65024, 10000, {.tied = true}, "falcon-7b falcon-7b-instruct"},
    {Style::falcon, 60, 128, 8, 8192, 64, 32768, 2048, 65024, 65024, 10000, {.tied = true}, "falcon-40b falcon-40b-instruct"},
    {Style::falcon, 80, 232, 8, 14848, 64, 59392, 2048, 65024, 65024, 10000, {.tied = true}, "falcon-180B falcon-180B-chat"},
    {Style::llama, 18, 8, 4, 2048, 256, 8192, 4096, 131072, 131072, 1000042, {.eps = 1e-6}, "Falcon3-1B-Base Falcon3-1B-Instruct"},
    {Style::llama, 22, 12, 4, 3072, 256, 9216, 32768, 131072, 131072, 1000042, {.eps = 1e-6},
     "Falcon3-3B-Base Falcon3-3B-Instruct"},
    {Style::llama, 28, 12, 4, 3072, 256, 23040, 32768, 131072, 131072, 1000042, {.eps = 1e-6},
     "Falcon3-7B-Base Falcon3-7B-Instruct"},
    {Style::llama, 40, 12, 4, 3072, 256, 23040, 32768, 131072, 131072, 1000042, {.eps = 1e-6},
     "Falcon3-10B-Base Falcon3-10B-Instruct"},
    {Style::llama, 26, 32, 32, 3200, 100, 8640, 2048, 32000, 32000, 10000, {.eps = 1e-6}, "open_llama_3b"},
    {Style::llama, 32, 32, 32, 4096, 128, 11008, 2048, 32000, 32000, 10000, {.eps = 1e-6}, "open_llama_7b"},
    {Style::llama, 40, 40, 40, 5120, 128, 13824, 2048, 32000, 32000, 10000, {.eps = 1e-6}, "open_llama_13b"},
    {Style::llama, 32, 32, 32, 4096, 128, 11008, 4096, 32000, 32000, 10000, {}, "Llama-2-7b-hf Llama-2-7b-chat-hf"},
    {Style::llama, 40, 40, 40, 5120, 128, 13824, 4096, 32000, 32000, 10000, {}, "Llama-2-13b-hf Llama-2-13b-chat-hf"},
    {Style::llama, 80, 64, 8, 8192, 128, 28672, 4096, 32000, 32000, 10000, {}, "Llama-2-70b-hf Llama-2-70b-chat-hf FreeWilly2"},
    {Style::llama, 32, 32, 8, 4096, 128, 14336, 8192, 128000, 128256, 500000, {}, "Llama-3-8B Llama-3-8B-Instruct"},
    {Style::llama, 32, 32, 8, 4096, 128, 14336, 131072, 128000, 128256, 500000, {.llama3_factor = 8},
     "Llama-3.1-8B Llama-3.1-8B-Instruct R1-Distill-Llama-8B"},
    {Style::llama, 80, 64, 8, 8192, 128, 28672, 8192, 128000, 128256, 500000, {}, "Llama-3-70B Llama-3-70B-Instruct"},
    {Style::llama, 80, 64, 8, 8192, 128, 28672, 131072, 128000, 128256, 500000, {.llama3_factor = 8},
     "Llama-3.1-70B Llama-3.1-70B-Instruct Llama-3.3-70B-Instruct Llama-3.1-Nemotron-70B-Instruct-HF "
     "R1-Distill-Llama-70B"},
    {Style::llama, 126, 128, 8, 16384, 128, 53248, 131072, 128000, 128256, 500000, {.llama3_factor = 8},
     "Llama-3.1-405B Llama-3.1-405B-Instruct"},
    {Style::llama, 16, 32, 8, 2048, 64, 8192, 131072, 128000, 128256, 500000, {.llama3_factor = 32, .tied = true},
     "Llama-3.2-1B Llama-3.2-1B-Instruct"},
    {Style::llama, 28, 24, 8, 3072, 128, 8192, 131072, 128000, 128256, 500000, {.llama3_factor = 32, .tied = true},
     "Llama-3.2-3B Llama-3.2-3B-Instruct"},
    {Style::olmo, 16, 16, 16, 2048, 128, 8192, 2048, 50280, 50304, 10000, {.tied = true}, "OLMo-1B-hf"},
    {Style::olmo, 32, 32, 32, 4096, 128, 11008, 2048, 50280, 50304, 10000, {}, "OLMo-7B-hf OLMo-7B-Instruct-hf"},
    {Style::olmo2, 32, 32, 32, 4096, 128, 11008, 4096, 100278, 100352, 500000, {.eps = 1e-6},
     "OLMo-2-1124-7B OLMo-2-1124-7B-SFT OLMo-2-1124-7B-DPO OLMo-2-1124-7B-Instruct"},
    {Style::olmo2, 40, 40, 40, 5120, 128, 13824, 4096, 100278, 100352, 500000, {.eps = 1e-6},
     "OLMo-2-1124-13B OLMo-2-1124-13B-SFT OLMo-2-1124-13B-DPO OLMo-2-1124-13B-Instruct"},
    {Style::gemma, 18, 8, 1, 2048, 256, 16384, 4096, 256000, 256000, 10000, {.tied = true}, "Gemma-2b Gemma-2b-it"},
    {Style::gemma, 28, 16, 16, 3072, 256, 24576, 4096, 256000, 256000, 10000, {.tied = true},
     "Gemma-7b Gemma-7b-it CodeGemma-7b-it"},
    {Style::gemma2, 26, 8, 4, 2304, 256, 9216, 8192, 256000, 256000, 10000, {.scores_scalar = 256, .tied = true},
     "Gemma-2-2b Gemma-2-2b-it"},
    {Style::gemma2, 42, 16, 8, 3584, 256, 14336, 8192, 256000, 256000, 10000, {.scores_scalar = 256, .tied = true},
     "Gemma-2-9b Gemma-2-9b-it"},
    {Style::gemma2, 46, 32, 16, 4608, 128, 36864, 8192, 256000, 256000, 10000, {.scores_scalar = 144, .tied = true},
     "Gemma-2-27b Gemma-2-27b-it"},
    {Style::gemma3, 26, 4, 1, 1152, 256, 6912, 131072, 262144, 262144, 1000000, {.window = 512, .scores_scalar = 256, .tied = true},
     "Gemma-3-1b-it"},
    {Style::gemma3, 34, 8, 4, 2560, 256, 10240, 131072, 262144, 262144, 1000000,
     {.linear_factor = 8, .window = 1024, .scores_scalar = 256, .tied = true}, "Gemma-3-4b-it"},
    {Style::gemma3, 48, 16, 8, 3840, 256, 15360, 131072, 262144, 262144, 1000000,
     {.linear_factor = 8, .window = 1024, .scores_scalar = 256, .tied = true}, "Gemma-3-12b-it"},
    {Style::gemma3, 62, 32, 16, 5376, 128, 21504, 131072, 262144, 262144, 1000000,
     {.linear_factor = 8, .window = 1024, .scores_scalar = 168, .tied = true}, "Gemma-3-27b-it"},
    {Style::llama, 32, 32, 32, 4096, 128, 11008, 16384, 32016, 32016, 1000000, {}, "CodeLlama-7b-hf CodeLlama-7b-Instruct-hf"},
    {Style::llama, 40, 40, 40, 5120, 128, 13824, 16384, 32016, 32016, 1000000, {}, "CodeLlama-13b-hf"},
    {Style::llama, 48, 64, 8, 8192, 128, 22016, 16384, 32000, 32000, 1000000, {},
     "CodeLlama-34b-hf CodeLlama-34b-Python-hf CodeLlama-34b-Instruct-hf"},
    {Style::llama, 80, 64, 8, 8192, 128, 28672, 16384, 32016, 32016, 1000000, {}, "CodeLlama-70b-hf CodeLlama-70b-Python-hf"},
    {Style::llama, 32, 32, 32, 4096, 128, 11008, 16384, 32000, 32000, 1000000, {}, "CodeLlama-7b-Python-hf"},
    {Style::llama, 40, 40, 40, 5120, 128, 13824, 16384, 32000, 32000, 1000000, {}, "CodeLlama-13b-Python-hf"},
    {Style::llama, 40, 40, 40, 5120, 128, 13824, 2048, 32016, 32016, 1000000, {}, "CodeLlama-13b-Instruct-hf"},
    {Style::llama, 80, 64, 8, 8192, 128, 28672, 16384, 32015, 32016, 1000000, {}, "CodeLlama-70b-Instruct-hf"},
    {Style::llama, 60, 52, 52, 6656, 128, 17920, 2048, 32000, 32000, 10000, {.eps = 1e-6}, "Platypus-30B"},
    {Style::llama, 32, 32, 32, 4096, 128, 11008, 4096, 32000, 32000, 10000, {}, "Platypus2-7B"},
    {Style::llama, 40, 40, 40, 5120, 128, 13824, 4096, 32000, 32000, 10000, {},
     "Platypus2-13B Camel-Platypus2-13B Stable-Platypus2-13B"},
    {Style::llama, 80, 64, 64, 8192, 128, 28672, 4096, 32000, 32000, 10000, {}, "Platypus2-70B"},
    {Style::llama, 80, 64, 8, 8192, 128, 28672, 4096, 32000, 32000, 10000, {}, "Camel-Platypus2-70B Platypus2-70B-instruct"},
    {Style::llama, 32, 32, 32, 4096, 128, 11008, 4096, 32000, 32000, 10000, {.condense = 8}, "LLaMA-2-7B-32K"},
    {Style::phi, 24, 32, 32, 2048, 64, 8192, 2048, 50257, 51200, 10000, {.rotary = 0.5}, "phi-1_5"},
    {Style::phi, 32, 32, 32, 2560, 80, 10240, 2048, 50257, 51200, 10000, {.rotary = 0.4}, "phi-2"},
    {Style::llama, 32, 32, 32, 3072, 96, 8192, 4096, 32000, 32064, 10000, {}, "Phi-3.5-mini-instruct"},
    {Style::llama, 32, 32, 32, 3072, 96, 8192, 4096, 32000, 32064, 10000, {.window = 2048}, "Phi-3-mini-4k-instruct"},
    {Style::llama, 32, 32, 32, 3072, 96, 8192, 131072, 32000, 32064, 10000, {.window = 262145}, "Phi-3-mini-128k-instruct"},
    {Style::llama, 32, 24, 8, 3072, 128, 8192, 131072, 200019, 200064, 10000, {.rotary = 0.75, .window = 262145, .tied = true},
     "Phi-4-mini-instruct Phi-4-mini-reasoning"},
    {Style::llama, 40, 40, 10, 5120, 128, 17920, 16384, 100352, 100352, 250000, {}, "phi-4"},
    {Style::llama, 40, 40, 10, 5120, 128, 17920, 32768, 100352, 100352, 500000, {}, "Phi-4-reasoning Phi-4-reasoning-plus"},
    {Style::llama, 32, 32, 8, 4096, 128, 14336, 4096, 32000, 32000, 10000, {.window = 4096}, "Mistral-7B-v0.1 Mistral-7B-Instruct-v0.1"},
    {Style::llama, 32, 32, 8, 4096, 128, 14336, 32768, 32768, 32768, 1000000, {.window = 4096}, "Mathstral-7B-v0.1"},
    {Style::llama, 32, 32, 8, 4096, 128, 14336, 32768, 32000, 32000, 1000000, {.experts = 8, .experts_per_token = 2},
     "Mixtral-8x7B-v0.1 Mixtral-8x7B-Instruct-v0.1"},
    {Style::llama, 56, 48, 8, 6144, 128, 16384, 65536, 32768, 32768, 1000000, {.experts = 8, .experts_per_token = 2},
     "Mixtral-8x22B-v0.1 Mixtral-8x22B-Instruct-v0.1"},
    {Style::llama, 32, 32, 8, 4096, 128, 14336, 32768, 32000, 32000, 1000000, {}, "Mistral-7B-v0.2 Mistral-7B-Instruct-v0.2"},
    {Style::llama, 32, 32, 8, 4096, 128, 14336, 32768, 32768, 32768, 1000000, {}, "Mistral-7B-v0.3 Mistral-7B-Instruct-v0.3"},
    {Style::llama, 88, 96, 8, 12288, 128, 28672, 32768, 32768, 32768, 1000000, {},
     "Mistral-Large-Instruct-2407 Mistral-Large-Instruct-2411"},
    {Style::llama, 22, 32, 4, 2048, 64, 5632, 2048, 32000, 32000, 10000, {}, "tiny-llama-1.1b tiny-llama-1.1b-chat"},
    {Style::llama, 12, 16, 4, 1024, 64, 5632, 2048, 32000, 32000, 10000, {}, "micro-llama-300M"},
    {Style::llama, 32, 32, 32, 4096, 128, 11008, 4096, 32000, 32000, 10000, {.eps = 1e-6},
     "Llama-2-7b-chat-hf-function-calling-v2"},
    {Style::qwen2, 24, 14, 2, 896, 64, 4864, 32768, 151643, 151936, 1000000, {.eps = 1e-6, .tied = true},
     "Qwen2.5-0.5B Qwen2.5-0.5B-Instruct Qwen2.5-Coder-0.5B Qwen2.5-Coder-0.5B-Instruct"},
    {Style::qwen2, 28, 12, 2, 1536, 128, 8960, 131072, 151643, 151936, 1000000, {.eps = 1e-6, .tied = true},
     "Qwen2.5-1.5B Qwen2.5-1.5B-Instruct"},
    {Style::qwen2, 36, 16, 2, 2048, 128, 11008, 32768, 151643, 151936, 1000000, {.eps = 1e-6, .tied = true},
     "Qwen2.5-3B Qwen2.5-3B-Instruct Qwen2.5-Coder-3B Qwen2.5-Coder-3B-Instruct"},
    {Style::qwen2, 28, 28, 4, 3584, 128, 18944, 131072, 151643, 152064, 1000000, {.eps = 1e-6}, "Qwen2.5-7B Qwen2.5-7B-Instruct"},
    {Style::qwen2, 48, 40, 8, 5120, 128, 13824, 131072, 151643, 152064, 1000000, {}, "Qwen2.5-14B Qwen2.5-14B-Instruct"},
    {Style::qwen2, 64, 40, 8, 5120, 128, 27648, 131072, 151643, 152064, 1000000, {}, "Qwen2.5-32B Qwen2.5-32B-Instruct QwQ-32B"},
    {Style::qwen2, 80, 64, 8, 8192, 128, 29568, 131072, 151643, 152064, 1000000, {}, "Qwen2.5-72B Qwen2.5-72B-Instruct"},
    {Style::qwen2, 28, 12, 2, 1536, 128, 8960, 32768, 151643, 151936, 1000000, {.eps = 1e-6, .tied = true},
     "Qwen2.5-Coder-1.5B Qwen2.5-Coder-1.5B-Instruct"},
    {Style::qwen2, 28, 28, 4, 3584, 128, 18944, 32768, 151643, 152064, 1000000, {.eps = 1e-6},
     "Qwen2.5-Coder-7B Qwen2.5-Coder-7B-Instruct"},
    {Style::qwen2, 48, 40, 8, 5120, 128, 13824, 32768, 151643, 152064, 1000000, {}, "Qwen2.5-Coder-14B Qwen2.5-Coder-14B-Instruct"},
    {Style::qwen2, 64, 40, 8, 5120, 128, 27648, 32768, 151643, 152064, 1000000, {},
     "Qwen2.5-Coder-32B Qwen2.5-Coder-32B-Instruct QwQ-32B-Preview"},
    {Style::qwen2, 28, 12, 2, 1536, 128, 8960, 4096, 151643, 151936, 10000, {.eps = 1e-6, .tied = true},
     "Qwen2.5-Math-1.5B Qwen2.5-Math-1.5B-Instruct"},
    {Style::qwen2, 28, 28, 4, 3584, 128, 18944, 4096, 151643, 152064, 10000, {.eps = 1e-6},
     "Qwen2.5-Math-7B Qwen2.5-Math-7B-Instruct"},
    {Style::qwen2, 80, 64, 8, 8192, 128, 29568, 4096, 151643, 152064, 10000, {}, "Qwen2.5-Math-72B Qwen2.5-Math-72B-Instruct"},
    {Style::qwen2, 28, 28, 4, 3584, 128, 18944, 1010000, 151643, 152064, 10000000, {}, "Qwen2.5-7B-Instruct-1M"},
    {Style::qwen2, 48, 40, 8, 5120, 128, 13824, 1010000, 151643, 152064, 10000000, {}, "Qwen2.5-14B-Instruct-1M"},
    {Style::qwen3, 28, 16, 8, 1024, 128, 3072, 40960, 151643, 151936, 1000000, {.eps = 1e-6, .tied = true}, "Qwen3-0.6B Qwen3-0.6B-Base"},
    {Style::qwen3, 28, 16, 8, 2048, 128, 6144, 40960, 151643, 151936, 1000000, {.eps = 1e-6, .tied = true}, "Qwen3-1.7B Qwen3-1.7B-Base"},
    {Style::qwen3, 36, 32, 8, 2560, 128, 9728, 40960, 151643, 151936, 1000000, {.eps = 1e-6, .tied = true}, "Qwen3-4B Qwen3-4B-Base"},
    {Style::qwen3, 36, 32, 8, 2560, 128, 9728, 262144, 151643, 151936, 5000000, {.eps = 1e-6, .tied = true},
     "Qwen3-4B-Thinking-2507 Qwen3-4B-Instruct-2507"},
    {Style::qwen3, 36, 32, 8, 4096, 128, 12288, 40960, 151643, 151936, 1000000, {.eps = 1e-6}, "Qwen3-8B Qwen3-8B-Base"},
    {Style::qwen3, 40, 40, 8, 5120, 128, 17408, 40960, 151643, 151936, 1000000, {.eps = 1e-6}, "Qwen3-14B Qwen3-14B-Base"},
    {Style::qwen3, 64, 64, 8, 5120, 128, 25600, 40960, 151643, 151936, 1000000, {.eps = 1e-6}, "Qwen3-32B"},
    {Style::qwen3, 48, 32, 4, 2048, 128, 6144, 40960, 151643, 151936, 1000000,
     {.eps = 1e-6, .experts = 128, .experts_per_token = 8, .expert_width = 768}, "Qwen3-30B-A3B Qwen3-30B-A3B-Base"},
    {Style::qwen3, 48, 32, 4, 2048, 128, 6144, 262144, 151643, 151936, 10000000,
     {.eps = 1e-6, .experts = 128, .experts_per_token = 8, .expert_width = 768}, "Qwen3-30B-A3B-Thinking-2507 Qwen3-30B-A3B-Instruct-2507"},
    {Style::qwen3, 94, 64, 4, 4096, 128, 12288, 40960, 151643, 151936, 1000000,
     {.eps = 1e-6, .experts = 128, .experts_per_token = 8, .expert_width = 1536}, "Qwen3-235B-A22B"},
    {Style::qwen3, 94, 64, 4, 4096, 128, 12288, 262144, 151643, 151936, 5000000,
     {.eps = 1e-6, .experts = 128, .experts_per_token = 8, .expert_width = 1536},
     "Qwen3-235B-A22B-Thinking-2507 Qwen3-235B-A22B-Instruct-2507"},
    {Style::llama, 24, 16, 16, 2048, 128, 5440, 8192, 256000, 256000, 10000, {}, "salamandra-2b salamandra-2b-instruct"},
    {Style::llama, 32, 32, 8, 4096, 128, 11008, 8192, 256000, 256000, 10000, {.eps = 1e-6}, "salamandra-7b salamandra-7b-instruct"},
    {Style::llama, 30, 9, 3, 576, 64, 1536, 8192, 49152, 49152, 100000, {.tied = true}, "SmolLM2-135M SmolLM2-135M-Instruct"},
    {Style::llama, 32, 15, 5, 960, 64, 2560, 8192, 49152, 49152, 100000, {.tied = true}, "SmolLM2-360M SmolLM2-360M-Instruct"},
    {Style::llama, 24, 32, 32, 2048, 64, 8192, 8192, 49152, 49152, 130000, {.tied = true}, "SmolLM2-1.7B SmolLM2-1.7B-Instruct"},
};

GptConfig styled(Style style) {
  GptConfig c;
  const auto llama_like = [&c] {
    c.norm_class = NormClass::rms_norm;
    c.mlp_class = MlpClass::llama;
    c.bias = false;
  };
  const auto gemma_like = [&] {
    llama_like();
    c.norm_unit_offset = true;
    c.mlp_class = MlpClass::gemma;
    c.gelu_tanh = true;
    c.scale_embeddings = true;
  };
  switch (style) {
    case Style::gpt2:
      c.weight_names = WeightNames::gpt2;
      c.positions = Positions::learned;
      c.gelu_tanh = true;
      break;
    case Style::neox:
      c.parallel_residual = true;
      c.rotary_percentage = 0.25;
      break;
    case Style::stablelm:
      c.bias = false;
      c.mlp_class = MlpClass::llama;
      c.rotary_percentage = 0.25;
      break;
    case Style::falcon:
    case Style::falcon_shared:
      c.bias = false;
      c.parallel_residual = true;
      c.shared_attention_norm = style == Style::falcon_shared;
      break;
    case Style::llama: llama_like(); break;
    case Style::qwen2:
      llama_like();
      c.attn_bias = true;
      break;
    case Style::olmo:
      c.norm_affine = false;
      c.bias = false;
      c.mlp_class = MlpClass::llama;
      break;
    case Style::qwen3:
      llama_like();
      c.norm_qk = true;
      break;
    case Style::olmo2:
      llama_like();
      c.norm_1 = c.norm_2 = false;
      c.post_attention_norm = c.post_mlp_norm = true;
      c.norm_qk = true;
      c.norm_qk_type = NormQkType::all_heads;
      break;
    case Style::gemma: gemma_like(); break;
    case Style::gemma2:
      gemma_like();
      c.post_attention_norm = c.post_mlp_norm = true;
      c.attention_logit_softcapping = 50;
      c.final_logit_softcapping = 30;
      c.sliding_window_size = 4096;
      c.sliding_window_indices = LayerPattern({true, false});
      break;
    case Style::gemma3:
      gemma_like();
      c.post_attention_norm = c.post_mlp_norm = true;
      c.norm_qk = true;
      c.rope_local_base_freq = 10000;
      c.rope_indices = c.sliding_window_indices = LayerPattern({true, true, true, true, true, false});
      break;
    case Style::phi:
      c.parallel_residual = true;
      c.shared_attention_norm = true;
      c.lm_head_bias = true;
      c.gelu_tanh = true;
      break;
  }
  return c;
}

GptConfig config_of(const Row& row, std::string_view name) {
  GptConfig c = styled(row.style);
  c.name = name;
  c.n_layer = row.layers;
  c.n_head = row.heads;
  c.n_query_groups = row.groups;
  c.n_embd = row.width;
  c.head_size = row.head;
  c.intermediate_size = row.mlp;
  c.block_size = row.block;
  c.vocab_size = row.vocab;
  c.padded_vocab_size = row.padded;
  c.rope_base = static_cast<double>(row.rope_base);
  c.norm_eps = row.extra.eps;
  if (row.extra.rotary != 0) c.rotary_percentage = row.extra.rotary;
  if (row.extra.llama3_factor != 0) c.rope_scaling = {RopeScaling::Kind::llama3, row.extra.llama3_factor, 1, 4, 8192};
  if (row.extra.linear_factor != 0) c.rope_scaling = {RopeScaling::Kind::linear, row.extra.linear_factor};
  c.rope_condense_ratio = row.extra.condense;
  if (row.extra.window != 0) c.sliding_window_size = row.extra.window;
  if (row.extra.scores_scalar != 0) c.attention_scores_scalar = row.extra.scores_scalar;
  if (row.extra.experts != 0) {
    c.mlp_class = MlpClass::llama_moe;
    c.n_expert = row.extra.experts;
    c.n_expert_per_token = row.extra.experts_per_token;
    c.moe_intermediate_size = row.extra.expert_width;
  }
  c.tied = row.extra.tied;
  c.vocab_follows_tokenizer = row.extra.tokenizer_vocab;
  return c;
}

/// Calls `f` with every (name, row).
template <class F>
void for_each_name(const F& f) {
  for (const Row& row : kRows) {
    std::string_view names = row.names;
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(' '), names.size());
      f(names.substr(0, end), row);
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
}

}  // namespace

std::vector<std::string_view> config_names() {
  std::vector<std::string_view> names;
  for_each_name([&](std::string_view name, const Row&) { names.push_back(name); });
  return names;
}

GptConfig named_config(std::string_view name) {
  const Row* found = nullptr;
  for_each_name([&](std::string_view candidate, const Row& row) {
    if (candidate == name) found = &row;
  });
  if (found == nullptr) {
    throw UserError(fmt::format("unknown model \"{}\"{}; `reprise models` lists all", name, nearest_hint(name, config_names())));
  }
  return config_of(*found, name);
}

}  // namespace reprise
