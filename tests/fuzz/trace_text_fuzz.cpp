// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text is either a trace that prints and parses to an equal one, or a UserError.
// Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay a corpus made in code through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "ir/parser.h"
#include "ir/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const reprise::Trace trace = reprise::parse_trace(text, "input");
    if (!(reprise::parse_trace(reprise::print_trace(trace), "printed") == trace)) std::abort();
  } catch (const reprise::UserError&) {
  }
  return 0;
}
