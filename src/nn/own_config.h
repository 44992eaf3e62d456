// SPDX-License-Identifier: Apache-2.0
// GptConfig <-> our own form of config.json, for structures that no family can express: every field by its name.
#pragma once

#include <string_view>

#include "io/json.h"
#include "nn/config_fields.h"
#include "nn/gpt_config.h"

namespace reprise {

/// Its `model_type`.
inline constexpr std::string_view kOwnConfigType = "reprise";

/// Reads every field. UserError for a missing key or a newer format version.
GptConfig read_own_config(ConfigFields& f);
Json write_own_config(GptConfig config);

}  // namespace reprise
