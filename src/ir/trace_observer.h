// SPDX-License-Identifier: Apache-2.0
// A place for tests to look at every trace that is verified or interpreted: whether it survives its text form, say.
// Nothing but tests sets an observer; without one the cost is a relaxed load per trace.
#pragma once

#include "ir/fwd.h"

namespace reprise {

/// Takes a well-formed trace. Called by any thread.
using TraceObserver = void (*)(const Trace&);

/// Sets the observer of the process; null: none.
void set_trace_observer(TraceObserver observer);

/// Shows `trace` to the observer, if there is one.
void observe_trace(const Trace& trace);

}  // namespace reprise
