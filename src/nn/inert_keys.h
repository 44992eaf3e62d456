// SPDX-License-Identifier: Apache-2.0
// Keys of config.json that do not change what a model computes: names of tokens, precision, defaults of generation, dropout
// (which a run's own option sets), losses beside the cross entropy that are off, memory of how a file was made.
#pragma once

#include <span>
#include <string_view>

#include "nn/model_family.h"

namespace reprise {

/// Of every family.
std::span<const std::string_view> common_inert_keys();
/// Of this family beside them.
std::span<const std::string_view> inert_keys(ModelFamily family);

}  // namespace reprise
