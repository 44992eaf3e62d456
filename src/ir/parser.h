// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a trace (ir/printer.h) back to an equal trace.
#pragma once

#include <string_view>

#include "ir/trace.h"

namespace reprise {

/// Returns the trace that `text` shows. UserError with "FILE:LINE:COLUMN", what was expected, and the nearest name where an
/// op, an attribute or a dtype is unknown. Types are taken as written: ops/verifier.h compares them with what ops infer.
Trace parse_trace(std::string_view text, std::string_view file = "trace");

}  // namespace reprise
