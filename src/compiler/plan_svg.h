// SPDX-License-Identifier: Apache-2.0
// A picture of a step's memory: bytes in use while each node runs, a line for each policy.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace reprise {

struct SvgCurve {
  std::string policy;
  std::int64_t persistent_bytes = 0;  // parameters, moments: below every line
  std::vector<std::int64_t> forward;  // transient bytes alive, node by node, in forward
  std::vector<std::int64_t> backward; // and from the first node of another phase on
  std::vector<std::string> largest;   // labels of the largest values alive at the peak
};

/// The curve of a compiled step.
SvgCurve svg_curve(const std::string& policy, std::int64_t persistent_bytes, const CompiledTrace& step);

/// Returns an SVG document. Forward fills the left 40 % of the width in every curve, backward and update the rest; the phases
/// are shaded, the peaks marked with their bytes, and the largest values at the first curve's peak listed.
std::string plan_svg(const std::string& title, std::span<const SvgCurve> curves);

}  // namespace reprise
