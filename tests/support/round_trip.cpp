// SPDX-License-Identifier: Apache-2.0
// Linked into every test program that has traces: each trace that a test verifies or interprets must print and parse back
// to an equal one.
#include <gtest/gtest.h>

#include <exception>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/trace.h"
#include "ir/trace_observer.h"

namespace reprise {
namespace {

void require_round_trip(const Trace& trace) {
  const std::string text = print_trace(trace);
  try {
    if (parse_trace(text, trace.name) == trace) return;
    ADD_FAILURE() << "the text of a trace parses to another trace:\n" << text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "the text of a trace does not parse: " << error.what() << "\n" << text;
  }
}

const bool kObserving = [] {
  set_trace_observer(require_round_trip);
  return true;
}();

}  // namespace
}  // namespace reprise
