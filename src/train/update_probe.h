// SPDX-License-Identifier: Apache-2.0
// How many updates of 16-bit parameters round to nothing: with rounding to nearest and no master, small ones are lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "executor/engine.h"
#include "optim/step.h"
#include "train/gpt_programs.h"

namespace reprise {

class UpdateProbe {
 public:
  /// Looks at up to 65,536 elements of the largest trained parameter. `engine` outlives the probe.
  UpdateProbe(const GptPrograms& programs, Engine& engine, const AdamWOptions& options);

  /// Whether updates can be lost: bfloat16 rounded to nearest, without masters.
  bool active() const { return !parameter_.empty(); }
  /// Around one step: notes the elements; then returns the warning to give, once, when a tenth or more did not move.
  void before();
  std::optional<std::string> after();

 private:
  Engine& engine_;
  std::string parameter_;
  std::vector<bfloat16> elements_;
  bool warned_ = false;
};

}  // namespace reprise
