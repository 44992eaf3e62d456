// SPDX-License-Identifier: Apache-2.0
// The model in a GGUF file: its structure from the metadata, and how its tensors are made of our parameters. Architectures
// llama and qwen2.
#pragma once

#include "io/gguf.h"
#include "nn/folder_weights.h"
#include "nn/gpt_config.h"

namespace reprise {

/// Reads the structure. UserError naming file and key for another architecture, a file that is no model or a part of one, a
/// missing or unknown key of the architecture, a structure that is not supported, or a value out of range.
GptConfig gguf_config(const GgufFile& file);

/// The tensors of a model of this structure in a file of the architecture that `file` has. In files of architecture llama
/// rows 2i and 2i + 1 of a head of attn_q and attn_k turn together, ours are i and i + half the head.
WeightTable gguf_weights(const GptConfig& config, const GgufFile& file);

}  // namespace reprise
