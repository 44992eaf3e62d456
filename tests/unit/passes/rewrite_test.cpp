// SPDX-License-Identifier: Apache-2.0
// The rewrite driver: what carries over by itself, names, canonical numbering, sub-traces.
#include "passes/rewrite.h"

#include <gtest/gtest.h>

#include "ir/printer.h"
#include "ops/builders.h"
#include "ops/verifier.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

Trace sample() {
  Trace trace;
  trace.name = "sample";
  const ValueId x = trace.add_input({DType::float32, {2}}, Role::state, "x");
  Builder b(trace);
  b.context = {Phase::backward, "m", "r", {"f.cpp", 3}, {{TagKind::must_save, "user"}}};
  const ValueId y = ops::exp(b, x);
  trace.outputs = {ops::neg(b, y), y};
  trace.donations = {{0, 0}};
  trace.nodes[0].executor = "loops";
  return trace;
}

TEST(Rewrite, CopyingEverythingGivesAnEqualTrace) {
  const Trace trace = sample();
  EXPECT_TRUE(rewrite(trace, [](Rewriter&, const Node&) { return false; }) == trace);
}

TEST(Rewrite, NewNodesTakeTheContextAndOverTheName) {
  const Trace result = rewrite(sample(), [](Rewriter& r, const Node& node) {
    if (node.opcode != op::exp) return false;
    const ValueId half = ops::mul_scalar(r.builder(), r.map(node.inputs[0]), 0.5);
    r.take_over(node.outputs[0], ops::square(r.builder(), ops::exp(r.builder(), half)));
    return true;
  });
  EXPECT_TRUE(verify(result).empty());
  EXPECT_EQ(print_trace(result), R"(reprise trace 1
trace sample {
  input float32[2] %x state
  float32[2] %mul_scalar = mul_scalar(%x) {value=0.5} backward in r  @m at f.cpp:3
  float32[2] %exp.2 = exp(%mul_scalar) backward in r  @m at f.cpp:3
  float32[2] %exp [must_save user] = square(%exp.2) backward in r  @m at f.cpp:3
  float32[2] %neg [must_save user] = neg(%exp) backward in r  @m at f.cpp:3
  output %neg
  output %exp
  donate %x -> %neg
}
)");
}

TEST(Rewrite, RenumberMakesValueOrderCanonical) {
  Trace trace = sample();
  const ValueId late = trace.add_input({DType::int64, {}}, Role::scalar, "late");
  EXPECT_EQ(late.value, 3u);
  const Trace result = renumber(trace);
  EXPECT_EQ(result.inputs[1].value.value, 1u);
  EXPECT_EQ(result.values[1].name, "late");
  EXPECT_TRUE(verify(result).empty());
  EXPECT_TRUE(renumber(result) == result);
}

TEST(Rewrite, ValueThatNothingStandsForIsRefused) {
  const Trace trace = sample();
  Rewriter rewriter(trace);
  EXPECT_INTERNAL_ERROR(rewriter.finish(), "nothing stands for %neg of trace 'sample' yet");
}

TEST(Rewrite, SubTracesAreVisitedInnermostFirst) {
  Trace inner = sample();
  inner.name = "inner";
  Trace middle = sample();
  middle.name = "middle";
  middle.nodes[0].bodies = {inner};
  Trace outer = sample();
  outer.nodes[1].bodies = {middle};
  std::string visited;
  const Trace result = in_sub_traces(outer, [&](const Trace& body) {
    visited += body.name + " ";
    Trace changed = body;
    changed.name += "!";
    return changed;
  });
  EXPECT_EQ(visited, "inner middle ");
  EXPECT_EQ(result.nodes[1].bodies[0].name, "middle!");
  EXPECT_EQ(result.nodes[1].bodies[0].nodes[0].bodies[0].name, "inner!");
}

}  // namespace
}  // namespace reprise
