// SPDX-License-Identifier: Apache-2.0
// A run's folder: config.toml (resolved options), plan.txt (memory), recompute_plan.txt, recompute_file.txt (what
// --recompute ops:FILE or file:PLAN read), metrics.jsonl and .csv, log.txt, data/, step-N/, latest, model/.
// Held by one process at a time.
#pragma once

#include <filesystem>
#include <string_view>

#include "io/run_lock.h"

namespace reprise {

class RunDirectory {
 public:
  /// Makes a new run. UserError when `path` holds something: naming --resume and --overwrite when it is a run, refusing to
  /// replace what is no run even with `overwrite`.
  /// With `overwrite` the old run is set aside in the folder until forget_replaced or restore_replaced.
  static RunDirectory create(const std::filesystem::path& path, std::string_view config, bool overwrite);
  /// Opens a run to continue it. UserError when it is none, or when another process works in it.
  static RunDirectory open(const std::filesystem::path& path);

  /// Removes the run that this one replaced.
  void forget_replaced() const;
  /// Puts the run that this one replaced back in its place; false when there was none.
  bool restore_replaced() const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path data() const { return path_ / "data"; }
  std::filesystem::path model() const { return path_ / "model"; }

 private:
  RunDirectory(std::filesystem::path path, RunLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  RunLock lock_;
};

/// Whether `path` is a run's folder.
bool is_run(const std::filesystem::path& path);

}  // namespace reprise
