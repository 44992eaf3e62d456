// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace reprise {
namespace {

TEST(Log, SilentWithoutCallback) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  log_warning("nobody hears this");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Log, CallbackGetsLevelAndTextAndCanBeReplaced) {
  std::vector<std::pair<LogLevel, std::string>> seen;
  const LogCallback before = set_log_callback([&](LogLevel level, const std::string& text) { seen.emplace_back(level, text); });
  log_info("one");
  log_warning("two");
  set_log_callback(before);
  log_warning("three");
  const std::vector<std::pair<LogLevel, std::string>> expected = {{LogLevel::info, "one"}, {LogLevel::warning, "two"}};
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace reprise
