// SPDX-License-Identifier: Apache-2.0
#include "compiler/stage_files.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "io/directory.h"
#include "io/file_error.h"
#include "io/file_write.h"
#include "io/path_query.h"
#include "ir/printer.h"

namespace reprise {
namespace {

/// A new folder that nobody else uses.
std::filesystem::path fresh_folder() {
  std::string pattern = (temporary_folder() / "reprise-failed-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw_file_error("create", pattern, errno);
  return pattern;
}

}  // namespace

StageFiles::StageFiles(std::filesystem::path dump, std::filesystem::path failures, std::string program, int number)
    : dump_(std::move(dump)), failures_(std::move(failures)), program_(std::move(program)), number_(number) {
  if (!dump_.empty()) make_directories(dump_);
  if (failures_.empty()) failures_ = dump_;
}

void StageFiles::dump(std::string_view stage, const std::string& text) {
  const int number = number_++;
  if (!dump_.empty()) write_text_file(dump_ / fmt::format("{}.{:02}-{}.txt", program_, number, stage), text);
}

void StageFiles::dump(std::string_view stage, const Trace& trace) {
  dump(stage, dump_.empty() ? std::string() : print_trace(trace));
}

std::string StageFiles::save_failing(std::string_view stage, const Trace& trace) const {
  const std::filesystem::path folder = failures_.empty() ? fresh_folder() : failures_;
  make_directories(folder);
  const std::filesystem::path path = folder / fmt::format("reprise-{}-{}.failed.txt", program_, stage);
  write_text_file(path, print_trace(trace));
  return path.string();
}

std::exception_ptr StageFiles::failure(std::string_view stage, const Trace& trace, const std::exception& error) const {
  std::string replay;
  try {
    replay = "replay it with: reprise run-trace " + save_failing(stage, trace);
  } catch (const UserError& refused) {  // the failure is still what is told
    replay = fmt::format("its trace could not be kept: {}", refused.what());
  }
  return std::make_exception_ptr(
      InternalError(fmt::format("stage '{}' failed on trace '{}': {}\n{}", stage, trace.name, error.what(), replay)));
}

}  // namespace reprise
