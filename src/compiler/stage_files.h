// SPDX-License-Identifier: Apache-2.0
// The files a compile leaves: one per stage in the dump directory, and the trace of a stage that failed.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "ir/trace.h"

namespace reprise {

class StageFiles {
 public:
  /// `dump`: folder for numbered files, made when missing; empty: none are written. `failures`: folder for the trace of a
  /// failing stage; empty: the dump folder, or else the system's folder for temporary files. `number`: of the first file.
  StageFiles(std::filesystem::path dump, std::filesystem::path failures, std::string program, int number = 0);

  /// The number that the next file gets, whether files are written or not.
  int number() const { return number_; }

  /// Writes PROGRAM.NN-STAGE.txt.
  void dump(std::string_view stage, const std::string& text);
  void dump(std::string_view stage, const Trace& trace);

  /// Writes the trace on which `stage` failed and returns the error that names the file and the command that replays it.
  std::exception_ptr failure(std::string_view stage, const Trace& trace, const std::exception& error) const;
  /// Writes the trace on which `stage` failed and returns the file.
  std::string save_failing(std::string_view stage, const Trace& trace) const;

 private:
  std::filesystem::path dump_;
  std::filesystem::path failures_;
  std::string program_;
  int number_;
};

}  // namespace reprise
