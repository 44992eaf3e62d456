// SPDX-License-Identifier: Apache-2.0
// The interpreter against results worked out by hand: views that alias, writes through them, sub-traces, draws.
#include "interpreter/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/builders.h"
#include "ops/op_table.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

const Shape kShape{2, 3};

HostTensor six() {
  return HostTensor::of<float>(kShape, {1, 2, 3, 4, 5, 6});
}

struct Fixture {
  Trace trace;
  Builder b{trace};
  ValueId x = trace.add_input({DType::float32, kShape}, Role::batch, "x");
};

TEST(InterpreterStorage, ViewsReadThroughTheirLayout) {
  Fixture f;
  const ValueId t = ops::transpose(f.b, f.x, 0, 1);
  f.trace.outputs = {t, ops::slice(f.b, t, 0, 1, 3), ops::neg(f.b, t)};
  const auto outputs = interpret(f.trace, std::vector{six()});
  EXPECT_EQ(outputs[0].numbers(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(outputs[1].numbers(), (std::vector<double>{2, 5, 3, 6}));
  EXPECT_EQ(outputs[2].numbers(), (std::vector<double>{-1, -4, -2, -5, -3, -6}));
}

TEST(InterpreterStorage, InPlaceWritesAreSeenThroughEveryView) {
  Fixture f;
  const ValueId base = ops::copy(f.b, f.x);
  const ValueId flat = ops::reshape(f.b, base, Shape{6});
  const ValueId column = ops::select(f.b, base, 1, 1);
  const ValueId written = f.b.emit_in_place(op::mul_scalar, {column}, ScalarAttrs{10});
  f.trace.outputs = {flat, base, written, column, f.x};
  const auto outputs = interpret(f.trace, std::vector{six()});
  EXPECT_EQ(outputs[0].numbers(), (std::vector<double>{1, 20, 3, 4, 50, 6}));
  EXPECT_EQ(outputs[1].numbers(), outputs[0].numbers());
  EXPECT_EQ(outputs[2].numbers(), (std::vector<double>{20, 50}));
  EXPECT_EQ(outputs[3].numbers(), (std::vector<double>{20, 50}));
  EXPECT_TRUE(outputs[4] == six());
}

TEST(InterpreterStorage, InPlaceReadsBeforeItWrites) {
  Fixture f;
  const ValueId square = ops::slice(f.b, f.x, 1, 0, 2);
  f.trace.outputs = {f.b.emit_in_place(op::add, {square, ops::transpose(f.b, square, 0, 1)}), f.x};
  const auto outputs = interpret(f.trace, std::vector{six()});
  EXPECT_EQ(outputs[0].numbers(), (std::vector<double>{2, 6, 6, 10}));
  EXPECT_EQ(outputs[1].numbers(), (std::vector<double>{2, 6, 3, 6, 10, 6}));
}

TEST(InterpreterStorage, ExpandedTensorIsNotWritten) {
  Fixture f;
  const ValueId wide = ops::expand(f.b, ops::unsqueeze(f.b, f.x, {0}), Shape{4, 2, 3});
  f.trace.outputs = {f.b.emit_in_place(op::neg, {wide})};
  EXPECT_USER_ERROR(interpret(f.trace, std::vector{six()}), "an in-place op cannot write a tensor whose elements share places");
}

TEST(InterpreterStorage, RunsSubTraces) {
  Trace body;
  Builder inside(body);
  const ValueId bx = body.add_input({DType::float32, kShape}, Role::batch, "x");
  body.outputs = {inside.emit_in_place(op::mul_scalar, {bx}, ScalarAttrs{3})};
  Trace backward;
  for (int i = 0; i < 3; ++i) backward.add_input({DType::float32, kShape}, Role::batch, "x");
  backward.outputs = {backward.inputs[2].value};
  Fixture f;
  const ValueId y = ops::custom_function(f.b, {f.x}, body, backward, "triple").at(0);
  f.trace.outputs = {y, f.x};
  const auto outputs = interpret(f.trace, std::vector{six()});
  EXPECT_EQ(outputs[0].numbers(), (std::vector<double>{3, 6, 9, 12, 15, 18}));
  EXPECT_TRUE(outputs[1] == six());
}

TEST(InterpreterStorage, DrawsNeedNumbers) {
  Trace random;
  Builder b(random);
  random.outputs = {ops::uniform(b, kShape, DType::float32)};
  EXPECT_USER_ERROR(interpret(random, {}), "run the rng pass first");
}

}  // namespace
}  // namespace reprise
