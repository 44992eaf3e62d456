// SPDX-License-Identifier: Apache-2.0
// A real model for the tests that want one: REPRISE_SMOLLM2 names SmolLM2-135M-Instruct's GGUF file or its folder, as
// tools/fetch-smollm2 leaves it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace reprise::test {

/// Returns the file, or nothing when the variable is not set or names none.
inline std::optional<std::filesystem::path> smollm2_file() {
  const char* const variable = std::getenv("REPRISE_SMOLLM2");
  if (variable == nullptr) return std::nullopt;
  std::filesystem::path path = variable;
  if (std::filesystem::is_directory(path)) path /= "SmolLM2-135M-Instruct.Q4_1.gguf";
  return std::filesystem::is_regular_file(path) ? std::optional(path) : std::nullopt;
}

}  // namespace reprise::test

/// Skips a test without the model.
#define REPRISE_SKIP_WITHOUT_SMOLLM2() \
  if (!::reprise::test::smollm2_file()) GTEST_SKIP() << "no SmolLM2: run tools/fetch-smollm2 DIR and set REPRISE_SMOLLM2=DIR"
