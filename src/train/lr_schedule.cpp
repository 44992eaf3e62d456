// SPDX-License-Identifier: Apache-2.0
// The factors are written as transformers' schedules round them: factor * (1 - r) + r, then times the peak.
#include "train/lr_schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace reprise {

namespace {

double half_cosine(double share) { return 0.5 * (1.0 + std::cos(std::numbers::pi * share)); }

double decayed(DecayShape shape, double share) {
  switch (shape) {
    case DecayShape::linear: return 1.0 - share;
    case DecayShape::cosine: return half_cosine(share);
    case DecayShape::one_minus_sqrt: return 1.0 - std::sqrt(share);
  }
  return 0;
}

double ratio(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

/// Returns the factor before the floor is applied.
double bare_factor(const LrSchedule& schedule, std::int64_t step) {
  const std::int64_t warmup = schedule.warmup_steps;
  const std::int64_t total = schedule.total_steps;
  if (step < warmup) return ratio(step, warmup);
  if (schedule.kind == ScheduleKind::constant) return 1.0;
  if (step >= total) return 0.0;
  switch (schedule.kind) {
    case ScheduleKind::linear: return ratio(total - step, total - warmup);
    case ScheduleKind::cosine: return half_cosine(ratio(step - warmup, total - warmup));
    case ScheduleKind::wsd: {
      const std::int64_t into_decay = step - (total - schedule.decay_steps);
      return into_decay <= 0 ? 1.0 : decayed(schedule.decay_shape, ratio(into_decay, schedule.decay_steps));
    }
    case ScheduleKind::constant: break;
  }
  return 1.0;
}

}  // namespace

void check_schedule(const LrSchedule& schedule) {
  if (!(schedule.peak > 0) || !std::isfinite(schedule.peak)) {
    throw UserError(fmt::format("learning_rate must be a positive number: {}", schedule.peak));
  }
  if (!(schedule.min_rate >= 0 && schedule.min_rate <= schedule.peak)) {
    throw UserError(fmt::format("min_lr must lie between 0 and learning_rate: {}, with learning_rate {}", schedule.min_rate,
                                schedule.peak));
  }
  if (schedule.warmup_steps < 0) {
    throw UserError(fmt::format("warmup_steps must not be negative: {}", schedule.warmup_steps));
  }
  if (schedule.kind == ScheduleKind::constant) return;
  if (schedule.total_steps < schedule.warmup_steps) {
    throw UserError(fmt::format("warmup_steps must not exceed the steps of the run: lower it or train longer; {} of {}",
                                schedule.warmup_steps, schedule.total_steps));
  }
  if (schedule.kind != ScheduleKind::wsd) return;
  if (schedule.decay_steps < 0 || schedule.decay_steps > schedule.total_steps - schedule.warmup_steps) {
    throw UserError(fmt::format("decay_steps must fit between the warm-up and the end of the run: {} of {}",
                                schedule.decay_steps, schedule.total_steps - schedule.warmup_steps));
  }
}

double learning_rate(const LrSchedule& schedule, std::int64_t step) {
  const double factor = bare_factor(schedule, step);
  const bool warming = step < schedule.warmup_steps;
  // The warm-up starts at 0, but for wsd, whose warm-up starts at the floor as in transformers.
  const bool floored = schedule.kind == ScheduleKind::wsd || (schedule.kind != ScheduleKind::constant && !warming);
  if (!floored) return schedule.peak * factor;
  const double floor = schedule.min_rate / schedule.peak;
  return schedule.peak * (factor * (1.0 - floor) + floor);
}

std::optional<ScheduleKind> parse_schedule_kind(std::string_view name) {
  if (name == "constant") return ScheduleKind::constant;
  if (name == "linear") return ScheduleKind::linear;
  if (name == "cosine") return ScheduleKind::cosine;
  if (name == "wsd") return ScheduleKind::wsd;
  return std::nullopt;
}

std::optional<DecayShape> parse_decay_shape(std::string_view name) {
  if (name == "linear") return DecayShape::linear;
  if (name == "cosine") return DecayShape::cosine;
  if (name == "one_minus_sqrt") return DecayShape::one_minus_sqrt;
  return std::nullopt;
}

}  // namespace reprise
