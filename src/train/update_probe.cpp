// SPDX-License-Identifier: Apache-2.0
#include "train/update_probe.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

constexpr std::size_t kMostElements = 65536;
constexpr double kWorthAWarning = 0.1;

}  // namespace

UpdateProbe::UpdateProbe(const GptPrograms& programs, Engine& engine, const AdamWOptions& options) : engine_(engine) {
  if (programs.dtype != DType::bfloat16 || options.master_weights || options.rounding != Rounding::nearest) return;
  std::int64_t largest = 0;
  for (const StepParameter& parameter : programs.training->parameters) {
    const std::int64_t count = engine.find_slot(parameter.name)->type.shape.numel();
    if (count <= largest) continue;
    largest = count;
    parameter_ = parameter.name;
  }
}

void UpdateProbe::before() {
  const std::span<const bfloat16> values = engine_.values<bfloat16>(parameter_);
  elements_.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kMostElements)));
}

std::optional<std::string> UpdateProbe::after() {
  if (warned_ || elements_.empty()) return std::nullopt;
  const std::span<const bfloat16> values = engine_.values<bfloat16>(parameter_);
  std::size_t still = 0;
  for (std::size_t i = 0; i < elements_.size(); ++i) still += values[i].bits == elements_[i].bits ? 1 : 0;
  const double share = static_cast<double>(still) / static_cast<double>(elements_.size());
  if (share < kWorthAWarning) return std::nullopt;
  warned_ = true;
  return fmt::format("{:.0f}% of the updates of {} rounded to nothing; use --rounding stochastic or --master_weights", 100 * share,
                     parameter_);
}

}  // namespace reprise
