// SPDX-License-Identifier: Apache-2.0
// The catalogue of passes, and the runner that checks each: verified after it ran, and on request interpreted before and after.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/trace.h"

namespace reprise {

struct Pass {
  std::string_view name;
  std::string_view does;           // one line for people
  bool enters_sub_traces = false;  // whether it changes bodies as well
  Trace (*run)(const Trace& trace) = nullptr;
};

/// Every pass, in the order in which a compile runs them. No pass changes a bit of any result.
std::span<const Pass> pass_catalogue();
/// Returns the pass called `name`; UserError with the nearest name when there is none.
const Pass& find_pass(std::string_view name);

struct PassOptions {
  /// Interprets the trace on seeded inputs before and after every pass, and requires equal bits of every output. Traces that
  /// still draw from the generator, or need a group of several processes, cannot be run and are not compared.
  bool compare = false;
  std::uint64_t seed = 1;
  /// Integers of the compared inputs lie in [0, this).
  std::int64_t integers = 2;
  /// Called with the result of every pass, to be written to the dump directory.
  std::function<void(std::string_view pass, const Trace& result)> dump;
  /// Called with the trace on which a pass failed; returns the file it was written to, for the error's text.
  std::function<std::string(std::string_view pass, const Trace& trace)> save_failing;
};

/// Runs passes one after the other and returns the last result. A pass that throws, makes an ill-formed trace or changes a
/// result ends in InternalError naming it and, where the trace was saved, the command that replays it; UserErrors pass through.
Trace run_passes(const Trace& first, std::span<const Pass> passes, const PassOptions& options = {});

}  // namespace reprise
