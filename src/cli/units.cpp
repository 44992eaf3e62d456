// SPDX-License-Identifier: Apache-2.0
#include "cli/units.h"

#include <fmt/format.h>

namespace reprise {
namespace {

/// Three significant digits, as long as they stand before or right behind the point.
std::string three_digits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e3) return fmt::format("{} B", bytes);
  if (value < 1e6) return fmt::format("{:.1f} kB", value / 1e3);
  if (value < 1e8) return fmt::format("{:.1f} MB", value / 1e6);
  return three_digits(value / 1e9) + " GB";
}

std::string format_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (value < 1e4) return fmt::format("{}", count);
  if (value < 1e6) return three_digits(value / 1e3) + " k";
  if (value < 1e9) return three_digits(value / 1e6) + " M";
  return three_digits(value / 1e9) + " B";
}

}  // namespace reprise
