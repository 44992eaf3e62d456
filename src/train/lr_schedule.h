// SPDX-License-Identifier: Apache-2.0
// Learning rates: a linear warm-up, then constant, linear, cosine, or stable and decay (WSD). In double, a function of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace reprise {

enum class ScheduleKind : std::uint8_t { constant, linear, cosine, wsd };
enum class DecayShape : std::uint8_t { linear, cosine, one_minus_sqrt };

/// With s the step from 0, w warmup_steps, r = min_rate / peak and f a factor, the rate is peak * f. For s < w: f = s/w.
///   constant  f = 1
///   linear    f = r + (1 - r) (total - s) / (total - w)
///   cosine    f = r + (1 - r) (1 + cos(pi (s - w) / (total - w))) / 2
///   wsd       warm-up r + (1 - r) s/w; 1 until decay_steps before the end; then, with p = decayed share, r + (1 - r) g(p):
///             g = 1 - p (linear), (1 + cos(pi p)) / 2 (cosine), 1 - sqrt(p) (one_minus_sqrt)
/// From total_steps on, the rate stays at min_rate, but for constant.
struct LrSchedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double peak = 0;
  double min_rate = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;                   // not read by constant
  std::int64_t decay_steps = 0;                   // wsd only
  DecayShape decay_shape = DecayShape::linear;    // wsd only
};

/// Throws UserError when the numbers contradict each other, naming the options to change.
void check_schedule(const LrSchedule& schedule);
/// Returns the learning rate of step `step`, counted from 0.
double learning_rate(const LrSchedule& schedule, std::int64_t step);

/// Returns the kind called "constant", "linear", "cosine" or "wsd", or nothing.
std::optional<ScheduleKind> parse_schedule_kind(std::string_view name);
/// Returns the shape called "linear", "cosine" or "one_minus_sqrt", or nothing.
std::optional<DecayShape> parse_decay_shape(std::string_view name);

}  // namespace reprise
