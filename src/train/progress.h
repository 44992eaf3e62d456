// SPDX-License-Identifier: Apache-2.0
// What a person sees of a run under way: one line, rewritten in place on a terminal, printed now and then elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace reprise {

struct ProgressState {
  std::int64_t step = 0;                                   // steps done
  std::optional<std::int64_t> total_steps = std::nullopt;  // unknown when the run ends by time
  double loss = 0;
  std::optional<double> val_loss = std::nullopt;  // the last one measured
  double ms = 0;                                  // milliseconds a step
  double tokens_per_second = 0;
  std::int64_t memory_used_bytes = 0;
  std::optional<double> seconds_left = std::nullopt;
};

/// Returns "step  200/5000  loss 2.41  val 2.44  ms 430  tok/s 7140  0.41 GB  left 34:24"; what is unknown is left out.
std::string format_progress(const ProgressState& state);
/// Returns "34:24", "2:03:04" or "3d 02:03:04"; fractions are rounded up.
std::string format_duration(double seconds);
/// Returns about three significant digits without an exponent where that is readable: "430", "2.41", "0.0123", "1.2e-05".
std::string format_short(double value);
/// Returns the seconds that the steps left will take.
double seconds_left(std::int64_t step, std::int64_t total_steps, double ms_per_step);

struct TerminalStyle {
  bool live = false;        // rewrite one line
  bool color = false;       // dim the names, so that the figures stand out
  std::size_t columns = 0;  // longer lines are cut, so that rewriting works; 0: unknown
};

/// Returns the style for what is behind file descriptor `fd`: live on a terminal, in colour unless NO_COLOR is set (no-color.org)
/// or TERM is dumb.
TerminalStyle terminal_style(int fd);
/// Returns what writes `line` over the last live line: cut to the columns and, with colour, with dimmed names.
std::string format_live_line(std::string_view line, const TerminalStyle& style);

/// Gives progress to `out` as text ready to be written.
class ProgressPrinter {
 public:
  ProgressPrinter(std::function<void(std::string_view)> out, const TerminalStyle& style);

  /// Shows a state. Live: over the last one, left to stand when `keep`. Plain: a line, only when `keep`.
  void show(const ProgressState& state, bool keep);
  /// Writes a line of its own, such as a sample or a warning.
  void message(std::string_view text);
  /// Ends a live line that stands unfinished.
  void finish();

 private:
  std::function<void(std::string_view)> out_;
  TerminalStyle style_;
  bool unfinished_ = false;
};

}  // namespace reprise
