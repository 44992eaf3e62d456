// SPDX-License-Identifier: Apache-2.0
// Pass: in-place nodes become pure ones. Runs before differentiation; every later pass needs a trace without them.
#pragma once

#include "ir/trace.h"

namespace reprise {

/// Replaces every in-place node by its pure op. A write through a view becomes a new value of the storage
/// (as_strided_scatter), and values read later that lie in a written storage are taken anew from it. An input of role param,
/// state or rng that is written becomes an output, to which it is donated. UserError for a write to a tensor whose elements share places,
/// and for a written input donated to another output. Enters sub-traces, whose inputs are local.
Trace functionalize(const Trace& trace);

}  // namespace reprise
