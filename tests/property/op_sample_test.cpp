// SPDX-License-Identifier: Apache-2.0
// Every sample of every op as a trace: it verifies, reads back equal, and every pass keeps the bits of its result.
#include <gtest/gtest.h>

#include <string>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ops/builder.h"
#include "ops/op_table.h"
#include "ops/verifier.h"
#include "passes/pass_manager.h"

namespace reprise {
namespace {

Trace trace_of(const OpRow& row, const OpSample& sample) {
  Trace trace;
  trace.name = std::string(opcode_name(row.opcode)) + "." + sample.name;
  Builder b(trace);
  std::vector<ValueId> inputs;
  for (const SampleInput& input : sample.inputs) inputs.push_back(trace.add_input(input.type, Role::batch, "x"));
  trace.outputs = b.emit_with_bodies(row.opcode, inputs, sample.attrs, sample.bodies);
  return trace;
}

TEST(OpSamples, SurvivePrintingAndPasses) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kBuiltinOpcodeCount; ++i) {
    const OpRow& row = op_row(Opcode{static_cast<std::uint16_t>(i)});
    for (const OpSample& sample : row.samples()) {
      const Trace trace = trace_of(row, sample);
      SCOPED_TRACE(trace.name);
      ASSERT_TRUE(verify(trace).empty()) << verify(trace)[0];
      ASSERT_TRUE(parse_trace(print_trace(trace)) == trace) << print_trace(trace);
      PassOptions options;
      options.compare = true;
      ASSERT_NO_THROW(run_passes(trace, pass_catalogue(), options)) << print_trace(trace);
      ++count;
    }
  }
  EXPECT_GT(count, kBuiltinOpcodeCount);
}

}  // namespace
}  // namespace reprise
