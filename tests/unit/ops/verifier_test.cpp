// SPDX-License-Identifier: Apache-2.0
// Each rule of the verifier, broken once.
#include "ops/verifier.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ops/builders.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

/// x, w -> relu(x) + w, with a scaled copy: a sound trace to be broken.
Trace sound() {
  Trace trace;
  trace.name = "t";
  const ValueId x = trace.add_input({DType::float32, {2, 3}}, Role::batch, "x");
  const ValueId w = trace.add_input({DType::float32, {3}}, Role::param, "w");
  Builder b(trace);
  const ValueId y = b.emit(op::relu, {x}, NoAttrs{}, "y");
  const ValueId z = b.emit(op::add, {y, w}, NoAttrs{}, "z");
  b.context.phase = Phase::update;
  const ValueId w2 = b.emit(op::mul_scalar, {w}, ScalarAttrs{0.5}, "w2");
  trace.outputs = {z, w2};
  trace.donations = {{1, 1}};
  return trace;
}

void expect_problem(const std::function<void(Trace&)>& break_it, const std::string& phrase) {
  Trace trace = sound();
  break_it(trace);
  std::string all;
  for (const std::string& problem : verify(trace)) all += problem + "\n";
  EXPECT_NE(all.find(phrase), std::string::npos) << "expected: " << phrase << "\nfound:\n" << all;
}

TEST(Verifier, SoundTraceHasNoProblem) {
  EXPECT_TRUE(verify(sound()).empty()) << verify(sound())[0];
  EXPECT_TRUE(verify(Trace{}).empty());
  EXPECT_NO_THROW(verify_or_throw(sound(), "nothing"));
}

TEST(Verifier, IdsMustExist) {
  expect_problem([](Trace& t) { t.nodes[0].inputs[0] = ValueId(99); }, "t: the inputs of node 0 name a value that does not exist: id 99");
  expect_problem([](Trace& t) { t.nodes[1].outputs[0] = ValueId(); }, "the outputs of node 1 name a value that does not exist");
  expect_problem([](Trace& t) { t.outputs.push_back(ValueId(99)); }, "the outputs of the trace name a value that does not exist: id 99");
  expect_problem([](Trace& t) { t.inputs[0].value = ValueId(99); }, "the inputs of the trace name a value that does not exist: id 99");
}

TEST(Verifier, ValuesAreDefinedOnceAndBeforeTheyAreRead) {
  expect_problem([](Trace& t) { std::swap(t.nodes[0], t.nodes[1]); }, "%y is read before it is defined: float32[2, 3] %z = add(%y, %w)");
  expect_problem([](Trace& t) { t.nodes[1].outputs = t.nodes[0].outputs; }, "%y is defined twice");
  expect_problem([](Trace& t) { t.values.push_back({{}, "lost", {}, NodeId(0), 0}); }, "nothing defines the value: %lost");
  expect_problem([](Trace& t) { t.values[2].producer = NodeId(1); }, "%y does not know that it is output 0");
  expect_problem([](Trace& t) { t.values[2].output = 1; }, "%y does not know that it is output 0");
  expect_problem([](Trace& t) { t.values[0].output = 1; }, "a value does not know that it is input 0 of the trace: %x");
  expect_problem([](Trace& t) { t.inputs.push_back(t.inputs[0]); }, "a value is two inputs of the trace: id 0");
  expect_problem([](Trace& t) { t.values[2].name = "x"; }, "two values have one name: %x");
}

TEST(Verifier, TypesAreWhatOpsInfer) {
  expect_problem([](Trace& t) { t.values[2].type.dtype = DType::bfloat16; },
                 "output 0 is recorded as bfloat16[2, 3], the op makes float32[2, 3]");
  expect_problem([](Trace& t) { t.values[1].type.shape = Shape{4}; }, "the inputs do not fit (");
  expect_problem([](Trace& t) { t.nodes[1].inputs.pop_back(); }, "the inputs do not fit (");
  expect_problem([](Trace& t) { t.nodes[2].attrs = DimAttrs{}; }, "attributes of another op's family");
  expect_problem(
      [](Trace& t) {
        t.values.push_back({{}, "extra", {}, NodeId(0), 1});
        t.nodes[0].outputs.push_back(ValueId(t.values.size() - 1));
      },
      "2 outputs are recorded, the op has 1");
}

TEST(Verifier, InPlaceNodesWriteWhatMayBeWritten) {
  Trace trace = sound();
  Builder b(trace);
  b.emit_in_place(op::add, {ValueId(2), ValueId(0)});
  EXPECT_TRUE(verify(trace).empty()) << verify(trace)[0];
  expect_problem([](Trace& t) { t.nodes[1].in_place = true, t.nodes[1].inputs = {ValueId(1), ValueId(2)}; },
                 "an in-place node's output has the type of its first input");
  expect_problem([](Trace& t) { t.donations.clear(), t.nodes[2].in_place = true; },
                 "writes in place to input %w of role param, which is not donated");
}

TEST(Verifier, DonationsPairEqualTypesOnce) {
  expect_problem([](Trace& t) { t.donations = {{7, 0}}; }, "a donation names input 7 of 2 and output 0 of 2");
  expect_problem([](Trace& t) { t.donations = {{1, 0}}; },
                 "a donated input and its output differ in type: %w -> %z: float32[3] and float32[2, 3]");
  expect_problem([](Trace& t) { t.donations = {{1, 1}, {1, 1}}; }, "an input is donated twice: %w -> %w2");
  expect_problem([](Trace& t) { t.donations = {{1, 1}, {1, 1}}; }, "an output takes two inputs' storage: %w -> %w2");
  expect_problem([](Trace& t) { t.inputs[1].role = Role::scalar; }, "a scalar input has no storage to donate: %w -> %w2");
  expect_problem([](Trace& t) { t.outputs.push_back(ValueId(1)); },
                 "an input is donated and returned as another output, copy it first: %w -> %w2");
}

TEST(Verifier, PhasesReadOnlyWhatComesBefore) {
  expect_problem([](Trace& t) { t.nodes[0].phase = Phase::backward; }, "a forward node reads %y of phase backward");
  expect_problem([](Trace& t) { t.nodes[0].phase = Phase::update, t.nodes[1].phase = Phase::backward; },
                 "a backward node reads %y of phase update");
  expect_problem([](Trace& t) { t.nodes[0].phase = Phase::backward, t.nodes[1].phase = Phase::recompute; },
                 "a recompute node reads %y of phase backward");
}

TEST(Verifier, TagsAreWishesAndNotItsConcern) {
  Trace trace = sound();
  trace.values[2].tags = {{TagKind::must_save, "user"}, {TagKind::must_recompute, "policy"}};
  trace.values[0].tags = {{TagKind::must_recompute, "user"}};
  EXPECT_TRUE(verify(trace).empty());
}

TEST(Verifier, SubTracesAreVerified) {
  Trace body = sound();
  body.values[2].type.dtype = DType::bfloat16;
  expect_problem([&](Trace& t) { t.nodes[1].bodies = {Trace{}, body}; }, "t/%z[1]: output 0 is recorded as bfloat16[2, 3]");
}

TEST(Verifier, ThrowsNamingTheStage) {
  Trace trace = sound();
  trace.values[2].name = "x";
  EXPECT_INTERNAL_ERROR(verify_or_throw(trace, "pass dce"), "pass dce made an ill-formed trace:\n  t: two values have one name: %x");
}

}  // namespace
}  // namespace reprise
