// SPDX-License-Identifier: Apache-2.0
// config.json <-> GptConfig in the keys of Hugging Face's families.
#pragma once

#include "io/json.h"
#include "nn/config_fields.h"
#include "nn/gpt_config.h"
#include "nn/model_family.h"

namespace reprise {

/// Reads a family's keys; keys that nobody asked for are left to f.finish(). UserError for a missing key, or a value that asks for a
/// structure which is not supported.
GptConfig read_family_config(ModelFamily family, ConfigFields& f);

/// Writes a structure in a family's keys. The family may be unable to express it: only reading the file back tells.
Json write_family_config(ModelFamily family, GptConfig config);

}  // namespace reprise
