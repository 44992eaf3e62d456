// SPDX-License-Identifier: Apache-2.0
// The tokenizer in a GGUF file's metadata: byte-level BPE (tokenizer.ggml.model "gpt2").
#pragma once

#include <memory>

#include "io/gguf.h"
#include "tokenizer/tokenizer.h"

namespace reprise {

/// Returns the tokenizer. UserError naming file and key when there is none, for another model or way of cutting words (read:
/// tokenizer.ggml.pre gpt-2, smollm, llama-bpe, qwen2), a key that is not known and may change ids, or tables that do not fit.
std::unique_ptr<Tokenizer> gguf_tokenizer(const GgufFile& file);

}  // namespace reprise
