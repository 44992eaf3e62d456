// SPDX-License-Identifier: Apache-2.0
// What the recompute policies `ops` and `alternate` keep in a model's blocks, unless the user says otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/gpt_config.h"

namespace reprise {

/// A list of ops by name; "default" stands for the default save list.
struct ModelSaveList {
  std::string_view name;  // "dense" or "experts"
  std::vector<std::string> ops;
};

/// The list of a model's kind. With experts the router's weights are kept too, [N, k] and [N, experts] for N tokens: next to
/// nothing beside an expert's activations, and the routing is not gone through a second time.
ModelSaveList model_save_list(const GptConfig& config);

}  // namespace reprise
