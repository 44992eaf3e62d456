// SPDX-License-Identifier: Apache-2.0
// The pass manager's checks, errors of single passes, and what golden traces cannot show.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/random_inputs.h"
#include "ir/printer.h"
#include "ops/builders.h"
#include "ops/op_table.h"
#include "ops/verifier.h"
#include "passes/functionalize.h"
#include "passes/pass_manager.h"
#include "passes/rewrite.h"
#include "passes/rng.h"
#include "passes/simplify.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

Trace small() {
  Trace trace;
  const ValueId x = trace.add_input({DType::float32, {2, 3}}, Role::batch, "x");
  Builder b(trace);
  trace.outputs = {ops::add_scalar(b, ops::neg(b, ops::neg(b, x)), 0)};
  return trace;
}

Trace drop_nodes(const Trace& trace) {
  Trace result = trace;
  result.nodes.pop_back();
  return result;
}

Trace add_zero_as_identity(const Trace& trace) {
  return rewrite(trace, [](Rewriter& r, const Node& node) {
    if (node.opcode != op::add_scalar) return false;
    r.replace(node.outputs[0], ops::neg(r.builder(), r.map(node.inputs[0])));
    return true;
  });
}

Trace rename_output(const Trace& trace) {
  Trace result = trace;
  result[result.outputs[0]].name = "other";
  return result;
}

Trace drop_output(const Trace& trace) {
  Trace result = trace;
  result.outputs.clear();
  return result;
}

Trace throw_check(const Trace&) { throw InternalError("broken inside"); }
Trace throw_user(const Trace&) { throw UserError("your fault"); }

TEST(PassManager, RunsDumpsAndCompares) {
  std::string dumped;
  PassOptions options;
  options.compare = true;
  options.dump = [&](std::string_view pass, const Trace&) { dumped += std::string(pass) + " "; };
  const Trace result = run_passes(small(), pass_catalogue(), options);
  EXPECT_EQ(dumped, "functionalize rng decompose simplify cse dce renumber ");
  ASSERT_EQ(result.nodes.size(), 1u) << print_trace(result);
  EXPECT_EQ(result.nodes[0].opcode, op::add_scalar);
}

TEST(PassManager, FailuresNameThePassAndTheReplay) {
  PassOptions options;
  std::string saved;
  options.compare = true;
  options.save_failing = [&](std::string_view pass, const Trace& trace) {
    saved = print_trace(trace);
    return std::string(pass) + ".trace";
  };
  const auto run = [&](Pass pass) { run_passes(small(), std::vector{pass}, options); };
  EXPECT_INTERNAL_ERROR(run({"drop", "", false, drop_nodes}), "pass 'drop' failed on trace 'trace': pass 'drop' made an ill-formed trace:");
  EXPECT_EQ(saved, print_trace(small()));
  EXPECT_INTERNAL_ERROR(run({"drop", "", false, drop_nodes}), "replay it with: reprise run-trace drop.trace");
  EXPECT_INTERNAL_ERROR(run({"round", "", false, add_zero_as_identity}), "pass 'round' changed the result %add_scalar");
  EXPECT_INTERNAL_ERROR(run({"name", "", false, rename_output}), "pass 'name' renamed the output %add_scalar to %other");
  EXPECT_INTERNAL_ERROR(run({"fewer", "", false, drop_output}), "pass 'fewer' dropped an output");
  EXPECT_INTERNAL_ERROR(run({"check", "", false, throw_check}), "broken inside");
  EXPECT_USER_ERROR(run({"user", "", false, throw_user}), "your fault");
}

/// exp, by a user op.
Opcode user_exp() {
  static const Opcode opcode = [] {
    OpRow row;
    row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
    row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) { return std::vector{ops::exp(b, inputs[0])}; };
    return register_op("pass_test_exp", row);
  }();
  return opcode;
}

/// A trace whose one node carries a body that every pass of one value could improve: nodes that cancel, are equal, are dead, or have
/// parts.
Trace with_body(bool in_place) {
  const TensorType type{DType::float32, {2, 3}};
  Trace body;
  body.name = "body";
  Builder inside(body);
  const ValueId y = body.add_input(type, Role::batch, "y");
  const ValueId same = ops::neg(inside, ops::neg(inside, y));
  const ValueId sum = ops::add(inside, ops::exp(inside, same), ops::exp(inside, same));
  const ValueId more = ops::add(inside, sum, inside.emit(user_exp(), {y}, CustomAttrs{}));
  ops::sqrt(inside, y);
  body.outputs = {in_place ? inside.emit_in_place(op::relu, {more}) : ops::relu(inside, more)};
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input(type, Role::batch, "x");
  trace.outputs = b.emit_with_bodies(op::tile, {x}, TileAttrs{1, {0}, {0}}, {body});
  return trace;
}

TEST(PassManager, PassesEnterSubTracesAsDeclared) {
  for (const Pass& pass : pass_catalogue()) {
    const Trace trace = with_body(pass.name == "functionalize");
    EXPECT_EQ(pass.run(trace).nodes.at(0).bodies != trace.nodes.at(0).bodies, pass.enters_sub_traces) << pass.name;
  }
}

TEST(PassManager, UnknownPassNamesTheNearest) {
  EXPECT_EQ(find_pass("dce").name, "dce");
  EXPECT_USER_ERROR(find_pass("dec"), "there is no pass 'dec'; did you mean \"dce\"?");
}

TEST(RandomInputs, DependOnSeedAndNameAlone) {
  Trace trace = small();
  const auto before = random_inputs(trace, 5);
  trace.add_input({DType::int64, {100}}, Role::batch, "index");
  trace.add_input({DType::float64, {}}, Role::scalar, "lr");
  const auto after = random_inputs(trace, 5, 7);
  EXPECT_TRUE(before[0] == after[0]);
  EXPECT_FALSE(random_inputs(trace, 6)[0] == after[0]);
  const auto index = after[1].numbers();
  EXPECT_EQ(*std::min_element(index.begin(), index.end()), 0);
  EXPECT_EQ(*std::max_element(index.begin(), index.end()), 6);
  EXPECT_GE(after[2].number(), 0);
}

/// Functionalizes, and requires what the in-place trace computes.
void expect_same_results(const Trace& trace) {
  const Trace pure = functionalize(trace);
  EXPECT_TRUE(verify(pure).empty()) << verify(pure)[0];
  EXPECT_FALSE(has_in_place_nodes(pure));
  const auto inputs = random_inputs(trace, 3);
  const auto before = interpret(trace, inputs);
  const auto after = interpret(pure, inputs);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i] == after[i]) << i << "\n" << print_trace(pure);
}

TEST(Functionalize, ChainsOfViewsAndOverlappingWrites) {
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input({DType::float32, {4, 6}}, Role::batch, "x");
  const ValueId base = ops::copy(b, x);
  const ValueId t = ops::transpose(b, base, 0, 1);                     // [6, 4]
  const ValueId odd = ops::slice(b, t, 0, 1, 6, 2);                    // [3, 4]
  const ValueId row = ops::select(b, odd, 1, 2);                       // [3]
  const ValueId diagonal = ops::diagonal(b, t, 1);                     // [3]
  const ValueId blocks = ops::reshape(b, base, Shape{2, 2, 6});
  const ValueId flat = ops::reshape(b, t, Shape{24});                  // not a view of base: a copy
  b.emit_in_place(op::add_scalar, {row}, ScalarAttrs{10});
  const ValueId sum = ops::add(b, row, diagonal);
  const ValueId second = b.emit_in_place(op::mul_scalar, {diagonal}, ScalarAttrs{-3});
  b.emit_in_place(op::add, {second, sum});
  b.emit_in_place(op::neg, {odd});
  const ValueId late = ops::select(b, blocks, 0, 1);                   // made of a view taken before the writes
  b.emit_in_place(op::mul, {flat, flat});
  trace.outputs = {base, t, odd, row, diagonal, blocks, flat, sum, second, late, x};
  expect_same_results(trace);
}

TEST(Functionalize, WritesIntoAnInputAreReturned) {
  Trace trace;
  Builder b(trace);
  const ValueId s = trace.add_input({DType::float32, {3}}, Role::state, "s");
  const ValueId p = trace.add_input({DType::float32, {3}}, Role::param, "p");
  const ValueId s2 = b.emit_in_place(op::add, {s, p});
  const ValueId p2 = b.emit_in_place(op::mul, {p, s2});
  trace.outputs = {p2};
  trace.donations = {{1, 0}};
  ASSERT_TRUE(verify(trace).empty()) << verify(trace)[0];
  expect_same_results(trace);
  const Trace pure = functionalize(trace);
  ASSERT_EQ(pure.outputs.size(), 2u);
  EXPECT_EQ(pure.donations, (std::vector<Donation>{{1, 0}, {0, 1}}));
  trace.outputs.push_back(s2);
  trace.donations = {{1, 1}};
  EXPECT_USER_ERROR(functionalize(trace), "written in place is donated to an output that is not its last value: %p");
}

TEST(Functionalize, OutputsKeepTheirNames) {
  Trace trace;
  Builder b(trace);
  const ValueId s = trace.add_input({DType::float32, {2, 3}}, Role::state, "s");
  const ValueId x = trace.add_input({DType::float32, {2, 3}}, Role::batch, "x");
  const ValueId y = b.emit(op::copy, {x}, NoAttrs{}, "y");
  const ValueId t = b.emit(op::permute, {y}, DimsAttrs{{1, 0}}, "t");  // seen anew after the write
  const ValueId written = b.emit_in_place(op::mul, {y, x}, NoAttrs{}, "written");
  const ValueId next = b.emit_in_place(op::add, {s, y}, NoAttrs{}, "next");
  trace.outputs = {t, y, written, next};
  trace.donations = {{0, 3}};
  expect_same_results(trace);
  const Trace pure = functionalize(trace);
  std::vector<std::string> names;
  for (const ValueId output : pure.outputs) names.push_back(pure[output].name);
  EXPECT_EQ(names, (std::vector<std::string>{"t", "y", "written", "next"}));
  EXPECT_EQ(pure.donations, (std::vector<Donation>{{0, 3}}));
}

TEST(Decompose, UserOpsBecomeTheirPartsInEveryTrace) {
  OpRow row;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0], inputs[0]}; };
  row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) { return std::vector{ops::neg(b, inputs[0]), inputs[0]}; };
  const Opcode inner = register_op("pass_test_inner", row);
  row.decompose = [inner](Builder& b, const Node&, std::span<const ValueId> inputs) {
    const std::vector<ValueId> made = b.emit_all(inner, {inputs[0]}, CustomAttrs{});
    return std::vector{made[1], ops::exp(b, made[0])};
  };
  row.evaluate = [](EvalContext&) { throw InternalError("a user op runs as its parts"); };
  const Opcode outer = register_op("pass_test_outer", row);
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input({DType::float32, {3}}, Role::batch, "x");
  b.context.module = "m";
  const std::vector<ValueId> made = b.emit_all(outer, {ops::square(b, x)}, CustomAttrs{}, "first");
  trace[made[0]].name = "kept";
  trace[made[1]].name = "changed";
  trace[made[1]].tags = {{TagKind::must_save, "user"}};
  trace.outputs = {made[0], made[1], b.emit_all(inner, {made[0]}, CustomAttrs{})[1]};
  PassOptions options;
  options.compare = true;
  const Trace parts = run_passes(trace, std::vector{find_pass("decompose"), find_pass("dce"), find_pass("renumber")}, options);
  EXPECT_EQ(print_trace(parts), R"(reprise trace 1
trace trace {
  input float32[3] %x batch
  float32[3] %square = square(%x)  @m
  float32[3] %pass_test_inner.2 = neg(%square)  @m
  float32[3] %kept = copy(%square)  @m
  float32[3] %changed [must_save user] = exp(%pass_test_inner.2)  @m
  float32[3] %pass_test_inner:1 = copy(%kept)  @m
  output %kept
  output %changed
  output %pass_test_inner:1
}
)");
}

TEST(Simplify, LeavesNoValueOutOfWhichSomethingIsWanted) {
  struct Pair {
    const char* name;
    std::function<ValueId(Builder&, ValueId)> first, second;
  };
  const auto flip = [](Builder& b, ValueId v) { return b.emit(op::flip, {v}, DimsAttrs{{0}}); };
  const auto neg = [](Builder& b, ValueId v) { return ops::neg(b, v); };
  const auto turned = [](Builder& b, ValueId v) { return ops::permute(b, v, {1, 2, 0}); };
  const auto sliced = [](Builder& b, ValueId v) { return ops::slice(b, v, 1, 1, 3); };
  const std::vector<Pair> pairs = {
      {"reshape", [](Builder& b, ValueId v) { return ops::reshape(b, v, {24}); },
       [](Builder& b, ValueId v) { return ops::reshape(b, v, {4, 6}); }},
      {"permute", turned, turned},
      {"slice", sliced, [](Builder& b, ValueId v) { return ops::slice(b, v, 1, 0, 1); }},
      {"expand", [](Builder& b, ValueId v) { return ops::expand(b, ops::slice(b, v, 2, 0, 1), {2, 3, 5}); },
       [](Builder& b, ValueId v) { return ops::expand(b, v, {7, 2, 3, 5}); }},
      {"cast", [](Builder& b, ValueId v) { return ops::cast(b, v, DType::float64); },
       [](Builder& b, ValueId v) { return ops::cast(b, v, DType::bfloat16); }},
      {"neg", neg, neg},
      {"abs", neg, [](Builder& b, ValueId v) { return b.emit(op::abs, {v}); }},
      {"flip", flip, flip},
      {"full", [](Builder& b, ValueId) { return ops::full(b, {4}, DType::float32, 2); }, neg},
  };
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.name);
    const auto left = [&](const Tag& tag) {
      Trace trace;
      const ValueId x = trace.add_input({DType::float32, {2, 3, 4}}, Role::batch, "x");
      Builder b(trace);
      const ValueId between = pair.first(b, x);
      trace[between].name = "between";
      trace[between].tags = {tag};
      trace.outputs = {ops::square(b, pair.second(b, between))};
      const Trace clean = run_passes(trace, std::vector{find_pass("simplify"), find_pass("cse"), find_pass("dce")});
      return clean.find("between").valid() ? clean[clean.find("between")].tags : std::vector<Tag>{};
    };
    const Tag asked{TagKind::must_save, "user"};
    EXPECT_EQ(left(asked), std::vector{asked});
    EXPECT_EQ(left({TagKind::prefer_recompute, "autograd"}), std::vector<Tag>{});
  }
}

TEST(Decompose, ACircleIsTheUsersError) {
  OpRow row;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
  row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) {
    return std::vector{b.emit(*find_opcode("pass_test_circle"), {inputs[0]}, CustomAttrs{})};
  };
  const Opcode circle = register_op("pass_test_circle", row);
  Trace trace;
  Builder b(trace);
  trace.outputs = {b.emit(circle, {trace.add_input({DType::float32, {3}}, Role::batch, "x")}, CustomAttrs{})};
  EXPECT_USER_ERROR(run_passes(trace, std::vector{find_pass("decompose")}),
                    "the decomposition of op 'pass_test_circle' leads back to itself");
}

TEST(Functionalize, SharedPlacesAreNotWritten) {
  Trace trace;
  Builder b(trace);
  const ValueId x = ops::copy(b, trace.add_input({DType::float32, {6}}, Role::batch, "x"));
  b.emit_in_place(op::neg, {ops::unfold(b, x, 0, 3, 1)});
  EXPECT_USER_ERROR(functionalize(trace), "cannot write a tensor whose elements share places");
  EXPECT_USER_ERROR(interpret(trace, random_inputs(trace, 1)), "cannot write a tensor whose elements share places");
}

TEST(Rng, ReportsWordsAndKeepsInputsOfTheTrace) {
  Trace trace;
  Builder b(trace);
  trace.add_input({DType::int64, {}}, Role::rng, kSeedInput);
  trace.outputs = {ops::uniform(b, Shape{5}, DType::float32), ops::normal(b, Shape{3}, DType::float32)};
  const NumberedDraws numbered = number_draws(trace);
  EXPECT_EQ(numbered.words, 12);
  EXPECT_EQ(numbered.trace.inputs.size(), 2u);
  EXPECT_TRUE(verify(numbered.trace).empty());
  EXPECT_EQ(number_draws(numbered.trace).words, 0);
  EXPECT_TRUE(number_draws(small()).trace == small());
}

TEST(Rng, UserOpsThatDrawAreDecomposed) {
  OpRow row;
  row.traits = Trait::random;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
  row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) {
    return std::vector{ops::add(b, inputs[0], ops::normal(b, b.shape(inputs[0]), b.dtype(inputs[0])))};
  };
  const Opcode noisy = register_op("pass_test_noisy", row);
  row.decompose = nullptr;
  row.evaluate = [](EvalContext&) {};
  row.cost = [](const Node&, std::span<const TensorType>, std::span<const TensorType>) { return Cost{}; };
  const Opcode opaque = register_op("pass_test_opaque", row);
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input({DType::float32, {3}}, Role::batch, "x");
  trace.outputs = {b.emit(noisy, {x}, CustomAttrs{}), b.emit(noisy, {x}, CustomAttrs{})};
  const NumberedDraws numbered = number_draws(trace);
  EXPECT_EQ(numbered.words, 8);
  EXPECT_TRUE(verify(numbered.trace).empty());
  const auto results = interpret(numbered.trace, random_inputs(numbered.trace, 1));
  EXPECT_FALSE(results[0] == results[1]);
  trace.outputs = {b.emit(opaque, {x}, CustomAttrs{})};
  EXPECT_USER_ERROR(number_draws(trace), "op 'pass_test_opaque' draws from the generator and has no decomposition");
}

TEST(Rng, AttentionThatDropsGetsItsStream) {
  Trace trace;
  Builder b(trace);
  const ValueId q = trace.add_input({DType::float32, {1, 4, 5, 8}}, Role::batch, "q");
  const ValueId k = trace.add_input({DType::float32, {1, 2, 3, 8}}, Role::batch, "k");
  AttentionAttrs attrs;
  attrs.dropout = 0.5;
  ops::AttentionInputs inputs{};
  inputs.q = q, inputs.k = k, inputs.v = k;
  const ValueId out = ops::attention(b, inputs, attrs).out;
  trace.outputs = {out, ops::uniform(b, Shape{1}, DType::float32)};
  const NumberedDraws numbered = number_draws(trace);
  EXPECT_EQ(numbered.words, 60 + 4);
  EXPECT_EQ(numbered.trace.nodes[0].inputs.size(), 5u);
  EXPECT_EQ(numbered.trace.nodes[1].as<PhiloxAttrs>().draw, 60);
  EXPECT_TRUE(verify(numbered.trace).empty()) << verify(numbered.trace)[0];
  EXPECT_TRUE(number_draws(numbered.trace).trace == numbered.trace);
  EXPECT_USER_ERROR(interpret(trace, random_inputs(trace, 1)), "run the rng pass first");
}

TEST(Rng, SubTracesCannotDraw) {
  Trace body;
  Builder inside(body);
  body.outputs = {ops::uniform(inside, Shape{2, 3}, DType::float32)};
  Trace trace = small();
  trace.nodes[0].bodies = {body};
  EXPECT_USER_ERROR(number_draws(trace), "a sub-trace cannot draw from the generator; draw outside and pass the numbers in");
}

TEST(Simplify, EveryRuleHasAName) {
  std::vector<std::string_view> names = simplify_rule_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace reprise
