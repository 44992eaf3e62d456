// SPDX-License-Identifier: Apache-2.0
// Where the reference data lies, which a clone need not have.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "support/source_directory.h"

namespace reprise::test {

inline std::filesystem::path reference_folder() {
  const char* given = std::getenv("REPRISE_REFERENCE_DIR");
  return given != nullptr ? std::filesystem::path(given) : test::source_directory() / "../shared/data/reference";
}

}  // namespace reprise::test

#define REPRISE_REQUIRE_REFERENCE(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no reference data at " << (path)
