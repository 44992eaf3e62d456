// SPDX-License-Identifier: Apache-2.0
#include "train/progress.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <string>

namespace reprise {
namespace {

const ProgressState kState{.step = 200,
                           .total_steps = 5000,
                           .loss = 2.4149,
                           .val_loss = 2.44,
                           .ms = 430.2,
                           .tokens_per_second = 7139.7,
                           .memory_used_bytes = 412'000'000,
                           .seconds_left = 2063.2};
constexpr std::string_view kLine = "step  200/5000  loss 2.41  val 2.44  ms 430  tok/s 7140  0.41 GB  left 34:24";

TEST(FormatProgress, IsTheDocumentedLine) { EXPECT_EQ(format_progress(kState), kLine); }

TEST(FormatProgress, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(format_progress({.step = 7, .loss = 0.5, .ms = 1.25, .tokens_per_second = 10}),
            "step 7  loss 0.500  ms 1.25  tok/s 10  0.00 GB");
}

TEST(FormatShort, GivesThreeDigits) {
  EXPECT_EQ(format_short(430.2), "430");
  EXPECT_EQ(format_short(12345.6), "12346");
  EXPECT_EQ(format_short(43.02), "43.0");
  EXPECT_EQ(format_short(2.4149), "2.41");
  EXPECT_EQ(format_short(-2.4149), "-2.41");
  EXPECT_EQ(format_short(0.24149), "0.241");
  EXPECT_EQ(format_short(0.024149), "0.0241");
  EXPECT_EQ(format_short(0.0024149), "0.00241");
  EXPECT_EQ(format_short(0.00024149), "2.4e-04");
  EXPECT_EQ(format_short(9.999), "10.0");
  EXPECT_EQ(format_short(99.96), "100");
  EXPECT_EQ(format_short(0.9996), "1.00");
  EXPECT_EQ(format_short(0), "0");
  EXPECT_EQ(format_short(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(format_short(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(FormatDuration, GrowsWithItsSize) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(0.2), "0:01");
  EXPECT_EQ(format_duration(2063.2), "34:24");
  EXPECT_EQ(format_duration(3600), "1:00:00");
  EXPECT_EQ(format_duration(2 * 3600 + 3 * 60 + 4), "2:03:04");
  EXPECT_EQ(format_duration(3 * 86400 + 2 * 3600 + 3 * 60 + 4), "3d 02:03:04");
}

TEST(SecondsLeft, CountsTheStepsLeft) {
  EXPECT_EQ(seconds_left(200, 5000, 430), 2064);
  EXPECT_EQ(seconds_left(5000, 5000, 430), 0);
}

class Printed : public testing::Test {
 protected:
  ProgressPrinter printer(const TerminalStyle& style) {
    return ProgressPrinter([this](std::string_view text) { text_ += text; }, style);
  }

  std::string text_;
};

TEST_F(Printed, PlainWritesOnlyWhatIsKept) {
  ProgressPrinter plain = printer({});
  plain.show(kState, false);
  EXPECT_EQ(text_, "");
  plain.show(kState, true);
  plain.message("a warning");
  plain.finish();
  EXPECT_EQ(text_, std::string(kLine) + "\na warning\n");
}

TEST_F(Printed, LiveRewritesTheLine) {
  ProgressPrinter live = printer({.live = true});
  live.show(kState, false);
  EXPECT_EQ(text_, "\r" + std::string(kLine) + "\x1b[K");
  text_.clear();
  live.message("a warning");
  EXPECT_EQ(text_, "\r\x1b[Ka warning\n");
  text_.clear();
  live.show(kState, true);
  EXPECT_EQ(text_.back(), '\n');
  live.finish();
  EXPECT_EQ(text_, "\r" + std::string(kLine) + "\x1b[K\n");
  live.show(kState, false);
  text_.clear();
  live.finish();
  live.finish();
  EXPECT_EQ(text_, "\n");
}

TEST(FormatLiveLine, IsCutToTheTerminal) {
  EXPECT_EQ(format_live_line("step 1/2  loss 2", {.live = true, .columns = 9}), "\rstep 1/2\x1b[K");
  EXPECT_EQ(format_live_line("step 1/2", {.live = true, .columns = 80}), "\rstep 1/2\x1b[K");
}

TEST(FormatLiveLine, DimsNamesInColour) {
  EXPECT_EQ(format_live_line("step  1/2  0.41 GB", {.live = true, .color = true}),
            "\r\x1b[2mstep\x1b[0m  1/2  0.41 \x1b[2mGB\x1b[0m\x1b[K");
}

/// A terminal of the kernel's own, and the variables that a test sets, put back at the end.
class Terminal : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (fd_ < 0) GTEST_SKIP() << "no pseudo terminals here";
    winsize size{};
    size.ws_col = 80;
    ioctl(fd_, TIOCSWINSZ, &size);
    for (const char* name : {"NO_COLOR", "TERM"}) {
      if (const char* value = std::getenv(name)) before_[name] = value;
    }
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
    for (const char* name : {"NO_COLOR", "TERM"}) {
      if (before_.contains(name)) {
        setenv(name, before_[name].c_str(), 1);
      } else {
        unsetenv(name);
      }
    }
  }

  int fd_ = -1;
  std::map<std::string, std::string> before_;
};

TEST_F(Terminal, IsLiveAndInColour) {
  const TerminalStyle style = terminal_style(fd_);
  EXPECT_TRUE(style.live);
  EXPECT_TRUE(style.color);
  EXPECT_EQ(style.columns, 80u);
}

TEST_F(Terminal, HonoursNoColor) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(terminal_style(fd_).live);
  EXPECT_FALSE(terminal_style(fd_).color);
  setenv("NO_COLOR", "", 1);  // no-color.org: only when not empty
  EXPECT_TRUE(terminal_style(fd_).color);
}

TEST_F(Terminal, ADumbOneAndAFileArePlain) {
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(terminal_style(fd_).live);
  setenv("TERM", "xterm", 1);
  const int file = open("/dev/null", O_WRONLY);
  EXPECT_FALSE(terminal_style(file).live);
  EXPECT_FALSE(terminal_style(file).color);
  close(file);
}

}  // namespace
}  // namespace reprise
