// SPDX-License-Identifier: Apache-2.0
// Formatting is pure; the printer only remembers whether a live line stands unfinished.
#include "train/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace reprise {

namespace {

constexpr std::string_view kStartOfLine = "\r";
constexpr std::string_view kEraseToEnd = "\x1b[K";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kNormal = "\x1b[0m";

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool is_name(std::string_view word) {
  return word == "step" || word == "loss" || word == "val" || word == "ms" || word == "tok/s" || word == "GB" || word == "left";
}

}  // namespace

std::string format_short(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-3) return fmt::format("{:.1e}", value);
  // Figures after the point, by what rounding leaves before it: 99.96 is "100", not "100.0".
  int digits = 5;
  for (double limit = 0.01; digits > 0 && size + 0.5 * std::pow(10.0, -digits) >= limit; limit *= 10) --digits;
  return fmt::format("{:.{}f}", value, digits);
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  const std::int64_t days = whole / 86400;
  const std::int64_t hours = whole / 3600 % 24;
  const std::int64_t minutes = whole / 60 % 60;
  if (days > 0) return fmt::format("{}d {:02}:{:02}:{:02}", days, hours, minutes, whole % 60);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

double seconds_left(std::int64_t step, std::int64_t total_steps, double ms_per_step) {
  return step >= total_steps ? 0.0 : static_cast<double>(total_steps - step) * ms_per_step / 1000.0;
}

std::string format_progress(const ProgressState& state) {
  std::string line = "step ";
  if (state.total_steps) {
    const std::string total = fmt::format("{}", *state.total_steps);
    line += fmt::format("{:>{}}/{}", state.step, total.size(), total);
  } else {
    line += fmt::format("{}", state.step);
  }
  line += fmt::format("  loss {}", format_short(state.loss));
  if (state.val_loss) line += fmt::format("  val {}", format_short(*state.val_loss));
  line += fmt::format("  ms {}  tok/s {:.0f}", format_short(state.ms), state.tokens_per_second);
  line += fmt::format("  {:.2f} GB", static_cast<double>(state.memory_used_bytes) / 1e9);
  if (state.seconds_left) line += fmt::format("  left {}", format_duration(*state.seconds_left));
  return line;
}

TerminalStyle terminal_style(int fd) {
  TerminalStyle style;
  if (isatty(fd) == 0) return style;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  style.live = !dumb;
  style.color = !dumb && !is_set("NO_COLOR");
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0) style.columns = size.ws_col;
  return style;
}

std::string format_live_line(std::string_view line, const TerminalStyle& style) {
  // One column stays free: a terminal may move on when the last one is written.
  if (style.columns > 1) line = line.substr(0, style.columns - 1);
  std::string text(kStartOfLine);
  if (!style.color) return text.append(line).append(kEraseToEnd);
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    text += is_name(word) ? fmt::format("{}{}{}", kDim, word, kNormal) : std::string(word);
    const std::size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    text += line.substr(end, next - end);
    line.remove_prefix(next);
  }
  return text.append(kEraseToEnd);
}

ProgressPrinter::ProgressPrinter(std::function<void(std::string_view)> out, const TerminalStyle& style)
    : out_(std::move(out)), style_(style) {}

void ProgressPrinter::show(const ProgressState& state, bool keep) {
  std::string text = format_progress(state);
  if (style_.live) {
    text = format_live_line(text, style_);
  } else if (!keep) {
    return;
  }
  if (keep) text.push_back('\n');
  out_(text);
  unfinished_ = style_.live && !keep;
}

void ProgressPrinter::message(std::string_view text) {
  std::string line;
  if (unfinished_) line.append(kStartOfLine).append(kEraseToEnd);
  out_(line.append(text).append("\n"));
  unfinished_ = false;
}

void ProgressPrinter::finish() {
  if (unfinished_) out_("\n");
  unfinished_ = false;
}

}  // namespace reprise
