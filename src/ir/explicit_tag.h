// SPDX-License-Identifier: Apache-2.0
// Whose wish a tag is.
#pragma once

#include "ir/trace.h"

namespace reprise {

/// Whether the model's code asks; the wishes of autograd are for what no one else speaks of.
inline bool is_explicit(const Tag& tag) {
  static const Interned kAutograd("autograd");
  return tag.source != kAutograd;
}

}  // namespace reprise
