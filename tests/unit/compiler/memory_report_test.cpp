// SPDX-License-Identifier: Apache-2.0
// The memory report of a trace whose peak is known by hand.
#include "compiler/memory_report.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "support/sample_traces.h"

namespace reprise {
namespace {

using test::f32;

TEST(MemoryReport, SaysWhereThePeakIsAndWhatFillsIt) {
  Trace trace;
  trace.name = "step";
  Builder b(trace);
  const ValueId p = trace.add_input(f32({1000}), Role::param, "p");
  const ValueId x = trace.add_input(f32({1000}), Role::batch, "x");
  b.context.module = "mlp";
  const ValueId h = b.emit(op::mul, {x, p}, NoAttrs{}, "h");  // x dies here: h takes its bytes
  const ValueId loss = b.emit(op::sum, {h}, ReduceAttrs{}, "loss");
  b.context.phase = Phase::backward;
  const ValueId wide = ops::expand(b, ops::reshape(b, b.emit(op::tanh, {loss}, NoAttrs{}, "t"), Shape{1}), Shape{1000});
  const ValueId g = b.emit(op::mul, {h, p}, NoAttrs{}, "g");
  const ValueId both = b.emit(op::mul, {g, h}, NoAttrs{}, "both");
  const ValueId sum = b.emit(op::add, {both, wide}, NoAttrs{}, "end");
  b.context.phase = Phase::update;
  trace.outputs = {loss, b.emit(op::sub, {p, sum}, NoAttrs{}, "p.new")};
  trace.donations = {{0, 1}};
  const CompiledTrace compiled = test::compile(trace);
  const MemoryReport report = report_memory(compiled);
  EXPECT_EQ(report.transient_bytes, compiled.plan.transient_bytes);
  EXPECT_EQ(report.live_bytes, compiled.plan.bound_bytes);
  EXPECT_EQ(report.peak, "mul @mlp");
  ASSERT_GE(report.live.size(), 2U) << report.str();
  std::int64_t total = 0;
  for (const LiveValue& value : report.live) total += value.bytes;
  EXPECT_EQ(total, report.live_bytes) << report.str();
  EXPECT_EQ(report.live[0].bytes, 4000);
  const auto find = [&](const std::string& name) {
    for (const LiveValue& value : report.live) {
      if (value.name == name) return value;
    }
    return LiveValue{};
  };
  EXPECT_EQ(find("h").kind, "saved");
  EXPECT_EQ(find("h").last_read, "mul @mlp");
  EXPECT_EQ(find("loss").kind, "output");
  EXPECT_EQ(find("loss").last_read, "");
  EXPECT_NE(report.str(1).find("4000  saved      %h float32[1000]  made by mul @mlp"), std::string::npos) << report.str(1);
}

TEST(MemoryReport, LiveBytesAreTheBoundOfThePlan) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const CompiledTrace compiled = test::compile(test::random_trace(seed));
    EXPECT_EQ(report_memory(compiled).live_bytes, compiled.plan.bound_bytes) << seed;
  }
}

}  // namespace
}  // namespace reprise
