// SPDX-License-Identifier: Apache-2.0
// From a rope node's layout to that of its formula (base/row_formulas.h): for the reference and for compiled loops.
#pragma once

#include "base/row_formulas.h"
#include "ir/attrs.h"

namespace reprise {

/// Returns the formula's name of a layout.
constexpr rows::RopeLayout row_layout(RopeLayout layout) {
  switch (layout) {
    case RopeLayout::interleaved: return rows::RopeLayout::interleaved;
    case RopeLayout::gathered: return rows::RopeLayout::interleaved_litgpt;
    case RopeLayout::half: break;
  }
  return rows::RopeLayout::half;
}

}  // namespace reprise
