// SPDX-License-Identifier: Apache-2.0
// The text form of a trace, read back by ir/parser.h. One line a node: types on the left, module path on the right.
//
//   reprise trace 1
//   trace mlp {
//     input float32[4, 8] %x batch
//     input float32[16, 8] %fc.weight param
//     float32[4, 16] %h [must_save user] = linear(%x, %fc.weight)  @mlp.fc
//     float32[4, 16] %y = gelu(%h) {tanh_form=true} recompute by loops in block3/mlp  @mlp.act at model.cpp:12
//     output %y
//     donate %x -> %y
//   }
//
// `name_(` is an in-place node. Sub-traces follow their node's line. Fields that hold their default are left out, and so is
// the phase `forward`. A name of other characters than letters, digits and _.:/- is quoted.
#pragma once

#include <string>

#include "ir/trace.h"

namespace reprise {

inline constexpr int kTraceFormatVersion = 1;

/// Returns the text form with its version line. Never throws on an ill-formed trace: what cannot be named is shown as %?ID,
/// which the parser refuses.
std::string print_trace(const Trace& trace);
/// Returns one node's line without its sub-traces and without a newline, for messages.
std::string print_node(const Trace& trace, NodeId node);
/// Returns "{dim=1, keepdim=true}", or nothing where every field has its default.
std::string print_attrs(const Attrs& attrs);
/// Returns the shortest decimal that reads back to the same bits, always recognisable as floating: "1.0", "1e-05", "-inf".
std::string print_double(double x);

}  // namespace reprise
