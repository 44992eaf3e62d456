// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of training, as the field counts them: what the model asks for, whatever is computed twice.
#pragma once

#include <cstdint>

#include "nn/gpt_config.h"

namespace reprise {

/// Returns 6 N + 12 L H Q T (Chowdhery et al., "PaLM", 2022, appendix B) for one token of a row of T = `length`: N parameters,
/// embeddings included, L layers of H heads of size Q; the causal half is not taken off. Of a mixture of experts N counts those
/// of one token; in a layer with a window T is at most the window; with latent attention Q is the mean of key and value width.
double training_flops_per_token(const GptConfig& config, std::int64_t length);

}  // namespace reprise
