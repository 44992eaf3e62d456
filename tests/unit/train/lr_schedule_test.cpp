// SPDX-License-Identifier: Apache-2.0
#include "train/lr_schedule.h"

#include <gtest/gtest.h>

#include <limits>

#include "io/json.h"
#include "reference_data.h"
#include "support/expect_error.h"
#include "support/source_directory.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

void expect_rate(const LrSchedule& schedule, std::int64_t step, double expected) {
  EXPECT_NEAR(learning_rate(schedule, step), expected, test::tolerance(DType::float64) * schedule.peak) << "step " << step;
}

TEST(LrSchedule, AgreesWithFormulasInManyDigits) {
  const Json table = read_json(test::source_directory() / "tests/reference/lr_schedules.json");
  LrSchedule schedule;
  schedule.peak = table.find("peak")->number();
  schedule.min_rate = table.find("min_rate")->number();
  schedule.warmup_steps = table.find("warmup_steps")->integer();
  schedule.total_steps = table.find("total_steps")->integer();
  schedule.decay_steps = table.find("decay_steps")->integer();
  const auto& steps = table.find("steps")->items();
  ASSERT_EQ(table.find("tables")->items().size(), 6u);
  for (const Json& entry : table.find("tables")->items()) {
    SCOPED_TRACE(entry.find("kind")->string() + " " + entry.find("decay_shape")->string());
    schedule.kind = parse_schedule_kind(entry.find("kind")->string()).value();
    schedule.decay_shape = parse_decay_shape(entry.find("decay_shape")->string()).value();
    check_schedule(schedule);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      expect_rate(schedule, steps[i].integer(), entry.find("lr")->items()[i].number());
    }
  }
}

/// Every step of a table of the reference data.
void expect_reference(const Json& tables, const char* name, LrSchedule schedule) {
  SCOPED_TRACE(name);
  const Json* table = tables.find(name);
  ASSERT_NE(table, nullptr);
  const auto integer = [table](const char* key) { return table->find(key) ? table->find(key)->integer() : 0; };
  schedule.peak = 1e-3;
  schedule.warmup_steps = integer("warmup");
  schedule.total_steps = integer("total");
  if (schedule.kind == ScheduleKind::wsd) {
    schedule.decay_steps = integer("decay");
    schedule.total_steps = integer("warmup") + integer("stable") + integer("decay");
  }
  if (const Json* share = table->find("min_ratio")) schedule.min_rate = share->number() * schedule.peak;
  if (const Json* rate = table->find("min_lr")) schedule.min_rate = rate->number();
  check_schedule(schedule);
  const auto& rates = table->find("lr")->items();
  ASSERT_EQ(rates.size(), 50u);
  for (std::size_t step = 0; step < rates.size(); ++step) {
    expect_rate(schedule, static_cast<std::int64_t>(step), rates[step].number());
  }
}

TEST(LrSchedule, AgreesWithTheReferenceTables) {
  const auto path = test::reference_folder() / "ops/lr_schedules.json";
  REPRISE_REQUIRE_REFERENCE(path);
  const Json file = read_json(path);
  const Json& tables = *file.find("tables");
  expect_reference(tables, "constant_with_warmup", {.kind = ScheduleKind::constant});
  expect_reference(tables, "linear_with_warmup", {.kind = ScheduleKind::linear});
  expect_reference(tables, "cosine_with_warmup", {.kind = ScheduleKind::cosine});
  expect_reference(tables, "cosine_with_min_lr", {.kind = ScheduleKind::cosine});
  expect_reference(tables, "litgpt_cosine", {.kind = ScheduleKind::cosine});
  expect_reference(tables, "wsd_linear_decay", {.kind = ScheduleKind::wsd, .decay_shape = DecayShape::linear});
  expect_reference(tables, "wsd_cosine_decay", {.kind = ScheduleKind::wsd, .decay_shape = DecayShape::cosine});
  expect_reference(tables, "wsd_1_sqrt_decay", {.kind = ScheduleKind::wsd, .decay_shape = DecayShape::one_minus_sqrt});
}

TEST(LrSchedule, WithoutWarmUpStartsAtThePeak) {
  for (const ScheduleKind kind : {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine, ScheduleKind::wsd}) {
    EXPECT_EQ(learning_rate({.kind = kind, .peak = 0.5, .total_steps = 10, .decay_steps = 2}, 0), 0.5);
  }
}

TEST(LrSchedule, WarmUpOfTheWholeRunAndNoDecayAreAllowed) {
  const LrSchedule schedule{.kind = ScheduleKind::wsd, .peak = 1, .warmup_steps = 4, .total_steps = 4};
  check_schedule(schedule);
  EXPECT_EQ(learning_rate(schedule, 3), 0.75);
  EXPECT_EQ(learning_rate(schedule, 4), 0);
}

TEST(LrSchedule, RefusesNumbersThatContradictEachOther) {
  const LrSchedule good{.kind = ScheduleKind::wsd,
                        .peak = 1e-3,
                        .min_rate = 1e-4,
                        .warmup_steps = 10,
                        .total_steps = 100,
                        .decay_steps = 20};
  check_schedule(good);
  LrSchedule bad = good;
  bad.peak = 0;
  EXPECT_USER_ERROR(check_schedule(bad), "learning_rate must be a positive number: 0");
  bad.peak = std::numeric_limits<double>::quiet_NaN();
  EXPECT_USER_ERROR(check_schedule(bad), "learning_rate must be a positive number: nan");
  bad = good;
  bad.min_rate = 2e-3;
  EXPECT_USER_ERROR(check_schedule(bad), "min_lr must lie between 0 and learning_rate: 0.002, with learning_rate 0.001");
  bad = good;
  bad.warmup_steps = -1;
  EXPECT_USER_ERROR(check_schedule(bad), "warmup_steps must not be negative: -1");
  bad = good;
  bad.warmup_steps = 101;
  EXPECT_USER_ERROR(check_schedule(bad),
                    "warmup_steps must not exceed the steps of the run: lower it or train longer; 101 of 100");
  bad = good;
  bad.decay_steps = 91;
  EXPECT_USER_ERROR(check_schedule(bad), "decay_steps must fit between the warm-up and the end of the run: 91 of 90");
}

TEST(LrSchedule, NamesAreThoseOfTheOptions) {
  EXPECT_EQ(parse_schedule_kind("wsd"), ScheduleKind::wsd);
  EXPECT_EQ(parse_schedule_kind("Cosine"), std::nullopt);
  EXPECT_EQ(parse_decay_shape("one_minus_sqrt"), DecayShape::one_minus_sqrt);
  EXPECT_EQ(parse_decay_shape("exp"), std::nullopt);
}

}  // namespace
}  // namespace reprise
