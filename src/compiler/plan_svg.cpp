// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/memory_report.h"

namespace reprise {
namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 420;
constexpr double kLeft = 80;
constexpr double kTop = 48;
constexpr double kForwardShare = 0.4;
constexpr std::array<std::string_view, 8> kColours{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view colour = "#333333") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor, colour, escaped(text));
}

/// A step of the vertical axis: 1, 2 or 5 times a power of ten, at most seven in all.
double axis_step(double top) {
  double step = 1;
  while (top / step > 70) step *= 10;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (top / (step * factor) <= 7) return step * factor;
  }
  return step * 10;
}

std::string axis_label(double bytes) {
  for (const auto& [unit, size] : {std::pair{"GB", 1e9}, std::pair{"MB", 1e6}, std::pair{"kB", 1e3}}) {
    if (bytes >= size) return fmt::format("{:g} {}", bytes / size, unit);
  }
  return fmt::format("{:g} B", bytes);
}

class Drawing {
 public:
  Drawing(const std::string& title, std::span<const SvgCurve> curves) : title_(title), curves_(curves) {
    for (const SvgCurve& curve : curves) {
      for (const auto* part : {&curve.forward, &curve.backward}) {
        for (const std::int64_t bytes : *part) top_ = std::max(top_, static_cast<double>(curve.persistent_bytes + bytes));
      }
    }
  }

  std::string draw() {
    std::size_t notes = curves_.size();
    if (!curves_.empty()) notes += curves_[0].largest.size() + 1;
    const double bottom = kTop + kHeight + 28;
    text_ = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n",
                        kLeft + kWidth + 24, bottom + 16 * static_cast<double>(notes + 1));
    text_ +=
        fmt::format("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<text x=\"{:.1f}\" y=\"22\" font-size=\"15\">{}</text>\n",
                    kLeft, escaped(title_));
    phases();
    axis();
    for (std::size_t i = 0; i < curves_.size(); ++i) line(curves_[i], kColours[i % kColours.size()]);
    legend(bottom);
    return text_ + "</svg>\n";
  }

 private:
  static double forward_end() { return kLeft + kForwardShare * kWidth; }
  double y(double bytes) const { return kTop + kHeight * (1 - bytes / top_); }

  void phases() {
    text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#eef4fb\"/>\n", kLeft, kTop,
                         kForwardShare * kWidth, kHeight);
    text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#fbf2ee\"/>\n", forward_end(), kTop,
                         (1 - kForwardShare) * kWidth, kHeight);
    text_ += text_at(kLeft + 6, kTop - 6, "start", "forward");
    text_ += text_at(forward_end() + 6, kTop - 6, "start", "backward and update");
  }

  void axis() {
    const double step = axis_step(top_);
    for (double bytes = 0; bytes <= top_; bytes += step) {
      text_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#cccccc\"/>\n", kLeft,
                           kLeft + kWidth, y(bytes));
      text_ += text_at(kLeft - 6, y(bytes) + 4, "end", axis_label(bytes));
    }
  }

  void line(const SvgCurve& curve, std::string_view colour) {
    std::string points;
    double peak_x = kLeft;
    double peak = -1;
    const auto part = [&](const std::vector<std::int64_t>& bytes, double from, double to) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const double x = from + (to - from) * static_cast<double>(i + 1) / static_cast<double>(bytes.size());
        const double all = static_cast<double>(curve.persistent_bytes + bytes[i]);
        points += fmt::format("{:.1f},{:.1f} ", x, y(all));
        if (all > peak) {
          peak = all;
          peak_x = x;
        }
      }
    };
    part(curve.forward, kLeft, forward_end());
    part(curve.backward, forward_end(), kLeft + kWidth);
    text_ += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", colour, points);
    text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", peak_x, y(peak), colour);
  }

  static std::int64_t peak_of(const SvgCurve& curve) {
    std::int64_t peak = 0;
    for (const auto* part : {&curve.forward, &curve.backward}) {
      for (const std::int64_t bytes : *part) peak = std::max(peak, bytes);
    }
    return curve.persistent_bytes + peak;
  }

  void legend(double y0) {
    for (std::size_t i = 0; i < curves_.size(); ++i, y0 += 16) {
      const std::string_view colour = kColours[i % kColours.size()];
      text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"4\" fill=\"{}\"/>\n", kLeft, y0 - 6, colour);
      text_ += text_at(kLeft + 26, y0, "start", fmt::format("{}: peak {} bytes", curves_[i].policy, peak_of(curves_[i])));
    }
    if (curves_.empty() || curves_[0].largest.empty()) return;
    text_ += text_at(kLeft, y0, "start", fmt::format("largest values at the peak of {}:", curves_[0].policy));
    for (const std::string& label : curves_[0].largest) text_ += text_at(kLeft + 26, y0 += 16, "start", label);
  }

  const std::string& title_;
  std::span<const SvgCurve> curves_;
  double top_ = 1;
  std::string text_;
};

}  // namespace

SvgCurve svg_curve(const std::string& policy, std::int64_t persistent_bytes, const CompiledTrace& step) {
  SvgCurve curve;
  curve.policy = policy;
  curve.persistent_bytes = persistent_bytes;
  const std::vector<std::int64_t> bytes = live_bytes(step);
  const std::vector<Node>& nodes = step.claimed.trace.nodes;
  const auto later = std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.phase != Phase::forward; });
  const auto split = bytes.begin() + (later - nodes.begin());
  curve.forward.assign(bytes.begin(), split);
  curve.backward.assign(split, bytes.end());
  constexpr std::size_t kLabels = 8;
  const MemoryReport report = report_memory(step);
  for (std::size_t i = 0; i < std::min(kLabels, report.live.size()); ++i) {
    const LiveValue& value = report.live[i];
    curve.largest.push_back(fmt::format("{} bytes  {}  %{} {}  {}", value.bytes, value.kind, value.name, value.type, value.made_by));
  }
  return curve;
}

std::string plan_svg(const std::string& title, std::span<const SvgCurve> curves) { return Drawing(title, curves).draw(); }

}  // namespace reprise
