// SPDX-License-Identifier: Apache-2.0
#include "train/metrics.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

MetricsRow row(std::int64_t step) {
  return {.step = step,
          .tokens = step * 1024,
          .loss = 2.5,
          .lr = 1e-3,
          .grad_norm = 0.75,
          .ms = 430.5,
          .tokens_per_second = 7140.25,
          .memory_used_bytes = 410'000'000};
}

TEST(Metrics, RowsHaveTheSameKeysAlways) {
  EXPECT_EQ(metrics_json(row(3)),
            R"({"step": 3, "tokens": 3072, "loss": 2.5, "val_loss": null, "lr": 0.001, "grad_norm": 0.75, "ms": 430.5, )"
            R"("tokens_per_second": 7140.25, "memory_used_bytes": 410000000})");
  EXPECT_EQ(metrics_csv_header(), "step,tokens,loss,val_loss,lr,grad_norm,ms,tokens_per_second,memory_used_bytes");
  EXPECT_EQ(metrics_csv(row(3)), "3,3072,2.5,,0.001,0.75,430.5,7140.25,410000000");
  MetricsRow empty;
  empty.loss = std::numeric_limits<double>::quiet_NaN();
  empty.val_loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(metrics_csv(empty), "0,0,,,,,,,");
  EXPECT_NE(metrics_json(empty).find(R"("loss": null, "val_loss": null)"), std::string::npos);
}

std::string json_rows(std::initializer_list<std::int64_t> steps) {
  std::string text;
  for (const std::int64_t step : steps) text += metrics_json(row(step)) + "\n";
  return text;
}

std::string csv_rows(std::initializer_list<std::int64_t> steps) {
  std::string text = std::string(metrics_csv_header()) + "\n";
  for (const std::int64_t step : steps) text += metrics_csv(row(step)) + "\n";
  return text;
}

class MetricsFiles : public testing::Test {
 protected:
  void expect_steps(std::initializer_list<std::int64_t> steps) const {
    EXPECT_EQ(test::get_file(folder_ / "metrics.jsonl"), json_rows(steps));
    EXPECT_EQ(test::get_file(folder_ / "metrics.csv"), csv_rows(steps));
  }

  test::TemporaryDirectory folder_;
};

TEST_F(MetricsFiles, RowsAreThereAsSoonAsTheyAreWritten) {
  MetricsWriter writer(folder_.path());
  expect_steps({});
  writer.write(row(1));
  expect_steps({1});
  writer.write(row(2));
  expect_steps({1, 2});
}

TEST_F(MetricsFiles, ANewRunStartsAnew) {
  MetricsWriter(folder_.path()).write(row(1));
  MetricsWriter writer(folder_.path());
  expect_steps({});
}

TEST_F(MetricsFiles, ResumingDropsLaterRowsAndTornLines) {
  {
    MetricsWriter writer(folder_.path());
    for (const std::int64_t step : {10, 20, 30, 40}) writer.write(row(step));
  }
  const std::string json = test::get_file(folder_ / "metrics.jsonl");
  const std::string csv = test::get_file(folder_ / "metrics.csv");
  for (std::size_t cut = 1; cut < 30; ++cut) {
    test::put_file(folder_ / "metrics.jsonl", json.substr(0, json.size() - cut));
    test::put_file(folder_ / "metrics.csv", csv.substr(0, csv.size() - cut));
    MetricsWriter writer(folder_.path(), 20);
    expect_steps({10, 20});
    writer.write(row(30));
    expect_steps({10, 20, 30});
  }
  MetricsWriter(folder_.path(), 0);
  expect_steps({});
}

TEST_F(MetricsFiles, ResumingWithoutFilesStartsThem) {
  MetricsWriter(folder_.path(), 20).write(row(30));
  expect_steps({30});
}

TEST_F(MetricsFiles, AFailedRewriteKeepsEveryRow) {
  {
    MetricsWriter writer(folder_.path());
    for (const std::int64_t step : {10, 20}) writer.write(row(step));
  }
  const ScopedWriteFault fault(fail_after_bytes(20, ENOSPC));
  EXPECT_USER_ERROR(MetricsWriter(folder_.path(), 10), "no space left");
  expect_steps({10, 20});
}

TEST_F(MetricsFiles, RefusesRowsItDidNotWrite) {
  test::put_file(folder_ / "metrics.jsonl", "{\"step\": 1}\nnonsense\n");
  EXPECT_USER_ERROR(MetricsWriter(folder_.path(), 5), "metrics.jsonl:2");
  test::put_file(folder_ / "metrics.jsonl", "{\"loss\": 1}\n");
  EXPECT_USER_ERROR(MetricsWriter(folder_.path(), 5), "metrics.jsonl:1: a row of metrics without a step: remove the line");
  test::put_file(folder_ / "metrics.jsonl", "");
  test::put_file(folder_ / "metrics.csv", "step,loss\n1,2\n");
  EXPECT_USER_ERROR(MetricsWriter(folder_.path(), 5), "metrics.csv:1: not the columns this program writes: move the file away");
  test::put_file(folder_ / "metrics.csv", std::string(metrics_csv_header()) + "\nx,1\n");
  EXPECT_USER_ERROR(MetricsWriter(folder_.path(), 5), "metrics.csv:2: a row of metrics without a step");
}

TEST_F(MetricsFiles, RefusesAMissingFolder) {
  EXPECT_USER_ERROR(MetricsWriter(folder_ / "none"), "metrics.jsonl");
}

}  // namespace
}  // namespace reprise
