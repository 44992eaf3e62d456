// SPDX-License-Identifier: Apache-2.0
// A run's metrics as JSON lines and as CSV: one row a logged step, the same keys in both and in every row.
//
//   step               int     steps done
//   tokens             int     training tokens read so far
//   loss               number  mean training loss of the step
//   val_loss           number  mean validation loss, in rows where it was measured
//   lr                 number  learning rate of the step
//   grad_norm          number  norm of the gradient before clipping
//   ms                 number  milliseconds of the step
//   tokens_per_second  number  training tokens a second
//   memory_used_bytes  int     bytes of the arena, and of everything else planned
//
// A value that was not measured, or is not finite, is null in JSON and empty in CSV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/file_write.h"

namespace reprise {

struct MetricsRow {
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  std::optional<double> loss = std::nullopt;
  std::optional<double> val_loss = std::nullopt;
  std::optional<double> lr = std::nullopt;
  std::optional<double> grad_norm = std::nullopt;
  std::optional<double> ms = std::nullopt;
  std::optional<double> tokens_per_second = std::nullopt;
  std::optional<std::int64_t> memory_used_bytes = std::nullopt;
};

/// Returns the row as one line of JSON, without the end of line.
std::string metrics_json(const MetricsRow& row);
/// Returns the names of the columns, separated by commas.
std::string_view metrics_csv_header();
/// Returns the row as one line of CSV, without the end of line.
std::string metrics_csv(const MetricsRow& row);

/// Writes FOLDER/metrics.jsonl and FOLDER/metrics.csv.
class MetricsWriter {
 public:
  /// Starts both files anew, or, with `resume_step`, keeps their rows up to that step: later ones, and a last line that was not
  /// written whole, are dropped by an atomic rewrite. UserError when a kept line cannot be read, or a file not be written.
  explicit MetricsWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resume_step = std::nullopt);

  /// Appends a row to both files; it has reached the system when this returns.
  void write(const MetricsRow& row);

 private:
  std::unique_ptr<AppendFile> json_;
  std::unique_ptr<AppendFile> csv_;
};

}  // namespace reprise
