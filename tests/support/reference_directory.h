// SPDX-License-Identifier: Apache-2.0
// Where the reference values lie: the folder named by REPRISE_REFERENCE_DIR, else ../shared/data/reference beside the source.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "support/source_directory.h"

namespace reprise::test {

inline std::filesystem::path reference_directory() {
  const char* named = std::getenv("REPRISE_REFERENCE_DIR");
  if (named != nullptr && *named != '\0') return named;
  return test::source_directory() / ".." / "shared" / "data" / "reference";
}

}  // namespace reprise::test

/// Skips the test when `path` below the reference folder is not there.
#define REPRISE_NEEDS_REFERENCE(path)                                                                              \
  if (!std::filesystem::exists(::reprise::test::reference_directory() / (path)))                                   \
  GTEST_SKIP() << "no reference values at " << (::reprise::test::reference_directory() / (path)).string()          \
               << "; set REPRISE_REFERENCE_DIR"
