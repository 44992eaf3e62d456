// SPDX-License-Identifier: Apache-2.0
// Numbers of parameters of the published models, embeddings and head counted apart.
#pragma once

#include <cstdint>

namespace reprise::test {

struct PublishedParameters {
  std::int64_t count;
  const char* names;  // separated by blanks
};

inline constexpr PublishedParameters kPublishedParameters[] = {
    {14067712, "pythia-14m"},
    {30494720, "pythia-31m"},
    {70426624, "pythia-70m pythia-70m-deduped"},
    {162322944, "pythia-160m pythia-160m-deduped"},
    {162826560, "SmolLM2-135M SmolLM2-135M-Instruct"},
    {304636928, "micro-llama-300M"},
    {405334016, "pythia-410m pythia-410m-deduped"},
    {409007040, "SmolLM2-360M SmolLM2-360M-Instruct"},
    {630167424, "Qwen2.5-0.5B Qwen2.5-0.5B-Instruct Qwen2.5-Coder-0.5B Qwen2.5-Coder-0.5B-Instruct"},
    {751632384, "Qwen3-0.6B Qwen3-0.6B-Base"},
    {1011781632, "pythia-1b pythia-1b-deduped"},
    {1100048384, "tiny-llama-1.1b tiny-llama-1.1b-chat"},
    {1279787008, "OLMo-1B-hf"},
    {1301875840, "Gemma-3-1b-it"},
    {1414647808, "pythia-1.4b pythia-1.4b-deduped"},
    {1418270720, "phi-1_5"},
    {1498482688, "Llama-3.2-1B Llama-3.2-1B-Instruct"},
    {1669408768, "Falcon3-1B-Base Falcon3-1B-Instruct"},
    {1777088000,
     "Qwen2.5-1.5B Qwen2.5-1.5B-Instruct Qwen2.5-Coder-1.5B Qwen2.5-Coder-1.5B-Instruct Qwen2.5-Math-1.5B "
     "Qwen2.5-Math-1.5B-Instruct"},
    {1812039680, "SmolLM2-1.7B SmolLM2-1.7B-Instruct"},
    {2031739904, "Qwen3-1.7B Qwen3-1.7B-Base"},
    {2253490176, "salamandra-2b salamandra-2b-instruct"},
    {2769310720, "stablecode-completion-alpha-3b stablecode-completion-alpha-3b-4k stablecode-instruct-alpha-3b"},
    {2775208960, "pythia-2.8b pythia-2.8b-deduped"},
    {2779683840, "phi-2"},
    {2795443200, "stablelm-3b-4e1t stablelm-zephyr-3b stable-code-3b"},
    {3030460416, "Gemma-2b Gemma-2b-it"},
    {3204165888, "Gemma-2-2b Gemma-2-2b-it"},
    {3227655168, "Falcon3-3B-Base Falcon3-3B-Instruct"},
    {3397103616, "Qwen2.5-3B Qwen2.5-3B-Instruct Qwen2.5-Coder-3B Qwen2.5-Coder-3B-Instruct"},
    {3426473600, "open_llama_3b"},
    {3606752256, "Llama-3.2-3B Llama-3.2-3B-Instruct"},
    {3637321728, "stablelm-base-alpha-3b stablelm-tuned-alpha-3b"},
    {3821079552, "Phi-3-mini-4k-instruct Phi-3-mini-128k-instruct Phi-3.5-mini-instruct"},
    {4411424256, "Qwen3-4B Qwen3-4B-Base Qwen3-4B-Thinking-2507 Qwen3-4B-Instruct-2507"},
    {4450618368, "Phi-4-mini-instruct Phi-4-mini-reasoning"},
    {4551187968, "Gemma-3-4b-it"},
    {6738415616,
     "open_llama_7b Llama-2-7b-hf Llama-2-7b-chat-hf CodeLlama-7b-Python-hf Platypus2-7B LLaMA-2-7B-32K "
     "Llama-2-7b-chat-hf-function-calling-v2"},
    {6738546688, "CodeLlama-7b-hf CodeLlama-7b-Instruct-hf"},
    {6857302016, "pythia-6.9b pythia-6.9b-deduped"},
    {6888095744, "OLMo-7B-hf OLMo-7B-Instruct-hf"},
    {7217189760, "falcon-7b falcon-7b-instruct"},
    {7241732096, "Mistral-7B-v0.1 Mistral-7B-Instruct-v0.1 Mistral-7B-v0.2 Mistral-7B-Instruct-v0.2"},
    {7248023552, "Mathstral-7B-v0.1 Mistral-7B-v0.3 Mistral-7B-Instruct-v0.3"},
    {7298617344, "OLMo-2-1124-7B OLMo-2-1124-7B-SFT OLMo-2-1124-7B-DPO OLMo-2-1124-7B-Instruct"},
    {7455550464, "Falcon3-7B-Base Falcon3-7B-Instruct"},
    {7615616512,
     "Qwen2.5-7B Qwen2.5-7B-Instruct Qwen2.5-Coder-7B Qwen2.5-Coder-7B-Instruct Qwen2.5-Math-7B "
     "Qwen2.5-Math-7B-Instruct Qwen2.5-7B-Instruct-1M"},
    {7768117248, "salamandra-7b salamandra-7b-instruct"},
    {7868755968, "stablelm-base-alpha-7b stablelm-tuned-alpha-7b"},
    {8030261248, "Llama-3-8B Llama-3-8B-Instruct Llama-3.1-8B Llama-3.1-8B-Instruct R1-Distill-Llama-8B"},
    {8190735360, "Qwen3-8B Qwen3-8B-Base"},
    {9324112896, "Gemma-7b Gemma-7b-it CodeGemma-7b-it"},
    {10159209984, "Gemma-2-9b Gemma-2-9b-it"},
    {10305653760, "Falcon3-10B-Base Falcon3-10B-Instruct"},
    {11846072320, "pythia-12b pythia-12b-deduped"},
    {12772421376, "Gemma-3-12b-it"},
    {13015864320,
     "open_llama_13b Llama-2-13b-hf Llama-2-13b-chat-hf CodeLlama-13b-Python-hf Platypus2-13B "
     "Camel-Platypus2-13B Stable-Platypus2-13B"},
    {13016028160, "CodeLlama-13b-hf CodeLlama-13b-Instruct-hf"},
    {13716198400, "OLMo-2-1124-13B OLMo-2-1124-13B-SFT OLMo-2-1124-13B-DPO OLMo-2-1124-13B-Instruct"},
    {14659507200, "phi-4 Phi-4-reasoning Phi-4-reasoning-plus"},
    {14768307200, "Qwen3-14B Qwen3-14B-Base"},
    {14770033664,
     "Qwen2.5-14B Qwen2.5-14B-Instruct Qwen2.5-Coder-14B Qwen2.5-Coder-14B-Instruct "
     "Qwen2.5-14B-Instruct-1M"},
    {28406776320, "Gemma-2-27b Gemma-2-27b-it"},
    {28418288384, "Gemma-3-27b-it"},
    {30532122624, "Qwen3-30B-A3B Qwen3-30B-A3B-Base Qwen3-30B-A3B-Thinking-2507 Qwen3-30B-A3B-Instruct-2507"},
    {32528943616, "Platypus-30B"},
    {32762123264, "Qwen3-32B"},
    {32763876352,
     "Qwen2.5-32B Qwen2.5-32B-Instruct Qwen2.5-Coder-32B Qwen2.5-Coder-32B-Instruct QwQ-32B "
     "QwQ-32B-Preview"},
    {33743970304, "CodeLlama-34b-hf CodeLlama-34b-Python-hf CodeLlama-34b-Instruct-hf"},
    {41835970560, "falcon-40b falcon-40b-instruct"},
    {46702792704, "Mixtral-8x7B-v0.1 Mixtral-8x7B-Instruct-v0.1"},
    {68976648192, "Llama-2-70b-hf Llama-2-70b-chat-hf FreeWilly2 Camel-Platypus2-70B Platypus2-70B-instruct"},
    {68976910336, "CodeLlama-70b-hf CodeLlama-70b-Python-hf CodeLlama-70b-Instruct-hf"},
    {70553706496,
     "Llama-3-70B Llama-3-70B-Instruct Llama-3.1-70B Llama-3.1-70B-Instruct Llama-3.3-70B-Instruct "
     "Llama-3.1-Nemotron-70B-Instruct-HF R1-Distill-Llama-70B"},
    {72706203648, "Qwen2.5-72B Qwen2.5-72B-Instruct Qwen2.5-Math-72B Qwen2.5-Math-72B-Instruct"},
    {78371889152, "Platypus2-70B"},
    {122610069504, "Mistral-Large-Instruct-2407 Mistral-Large-Instruct-2411"},
    {140630071296, "Mixtral-8x22B-v0.1 Mixtral-8x22B-Instruct-v0.1"},
    {179522565120, "falcon-180B falcon-180B-chat"},
    {235093634560, "Qwen3-235B-A22B Qwen3-235B-A22B-Thinking-2507 Qwen3-235B-A22B-Instruct-2507"},
    {405853388800, "Llama-3.1-405B Llama-3.1-405B-Instruct"},
};

}  // namespace reprise::test
