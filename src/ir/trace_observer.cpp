// SPDX-License-Identifier: Apache-2.0
#include "ir/trace_observer.h"

#include <atomic>

namespace reprise {
namespace {

std::atomic<TraceObserver> current{nullptr};

}  // namespace

void set_trace_observer(TraceObserver observer) { current.store(observer, std::memory_order_relaxed); }

void observe_trace(const Trace& trace) {
  if (const TraceObserver observer = current.load(std::memory_order_relaxed)) observer(trace);
}

}  // namespace reprise
