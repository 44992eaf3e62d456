// SPDX-License-Identifier: Apache-2.0
// LitGPT's Config -> GptConfig.
#pragma once

#include "io/json_view.h"
#include "nn/gpt_config.h"

namespace reprise {

/// Reads `litgpt`, the fields of LitGPT's Config by their names, of the object `root`. What LitGPT decides by the model's
/// name ("Gemma": norms scale by 1 + weight; "OLMo": LayerNorm without weight and bias) is taken from the member `derived`
/// where it is there. UserError for an unknown key, a missing one, or a value out of range.
GptConfig read_litgpt_config(const JsonView& root);

}  // namespace reprise
